/** The fields of a submission, each with its help and with what is wrong with it. */
import type { ComponentChildren, VNode } from 'preact';
import { useConsole } from '../../gateway/console.ts';
import { FormField } from '../../parts/form-field.tsx';
import type { CheckedDraft, Draft, DraftField } from './draft.ts';
import { TagField } from './tag-field.tsx';

export type DraftFormProps = {
  readonly draft: Draft;
  readonly faults: CheckedDraft['faults'];
  /** Why the draft cannot be submitted; null if it can. */
  readonly refusal: string | null;
  readonly isBusy: boolean;
  readonly onChange: (change: Partial<Draft>) => void;
  readonly onSubmit: () => void;
};

export function DraftForm({ draft, faults, refusal, isBusy, onChange, onSubmit }: DraftFormProps): VNode {
  const text = (field: Exclude<DraftField, 'task_tags' | 'payload'>, isMono = false): VNode => (
    <input
      id={field}
      type="text"
      class={isMono ? 'mono' : ''}
      autocomplete="off"
      spellcheck={false}
      aria-describedby={`${field}-help`}
      aria-invalid={faults[field] !== undefined}
      value={draft[field]}
      onInput={({ currentTarget }) => onChange({ [field]: currentTarget.value })}
    />
  );
  const isOff = refusal !== null || isBusy;
  return (
    <form
      class="panel"
      onSubmit={(event) => {
        event.preventDefault();
        if (!isOff) onSubmit();
      }}
    >
      <div class="in form">
        <div class="pair">
          <Field field="task_type" label="Type" faults={faults}>
            {text('task_type')}
          </Field>
          <Field
            field="cli_session_id"
            label="Session"
            faults={faults}
            help="Clients that subscribe to it receive the result. May stay empty."
          >
            {text('cli_session_id', true)}
          </Field>
        </div>
        <TagsField {...{ draft, faults, onChange }} />
        <Field field="payload" label="Payload" faults={faults}>
          <textarea
            id="payload"
            rows={12}
            spellcheck={false}
            aria-describedby="payload-help"
            aria-invalid={faults.payload !== undefined}
            value={draft.payload}
            onInput={({ currentTarget }) => onChange({ payload: currentTarget.value })}
          />
        </Field>
        <div class="pair">
          <Field
            field="timeout"
            label="Timeout, seconds"
            faults={faults}
            help="Waiting and running together."
          >
            {text('timeout')}
          </Field>
          <Field
            field="queue_timeout"
            label="Wait for an agent, seconds"
            faults={faults}
            help={
              <>
                <span class="mono">queue_timeout</span>. Empty: fail at once if none is free.
              </>
            }
          >
            {text('queue_timeout')}
          </Field>
        </div>
      </div>
      <SubmitFooter {...{ refusal, isBusy, isOff }} />
    </form>
  );
}

type SubmitFooterProps = Pick<DraftFormProps, 'refusal' | 'isBusy'> & { readonly isOff: boolean };

/** Draws the button, and why it is off. */
function SubmitFooter({ refusal, isBusy, isOff }: SubmitFooterProps): VNode {
  return (
    <footer>
      <div class="head head-tight">
        <button class="btn primary" type="submit" aria-disabled={isOff}>
          {isBusy ? 'Submitting…' : 'Submit'}
        </button>
        <span class="muted" role="status">
          {refusal}
        </span>
        <span class="grow" />
        <span class="faint only-wide">
          <kbd>Ctrl</kbd> <kbd>Enter</kbd>
        </span>
      </div>
    </footer>
  );
}

type FieldProps = {
  readonly field: DraftField;
  readonly label: string;
  readonly faults: CheckedDraft['faults'];
  readonly help?: ComponentChildren;
  readonly children: ComponentChildren;
};

function Field({ field, faults, ...rest }: FieldProps): VNode {
  return <FormField id={field} fault={faults[field]} {...rest} />;
}

function TagsField({
  draft,
  faults,
  onChange,
}: Pick<DraftFormProps, 'draft' | 'faults' | 'onChange'>): VNode {
  const { overview } = useConsole();
  return (
    <Field
      field="task_tags"
      label="Tags"
      faults={faults}
      help="One shared tag is enough. Exact and case-sensitive."
    >
      <TagField
        id="task_tags"
        tags={draft.task_tags}
        suggestions={overview.value.value?.tags.map(({ tag }) => tag) ?? []}
        describedBy="task_tags-help"
        isInvalid={faults.task_tags !== undefined}
        onChange={(task_tags) => onChange({ task_tags })}
      />
    </Field>
  );
}
