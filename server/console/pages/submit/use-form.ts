/**
 * The state of the form: what fills it in, what is typed, and the submission under way. A repeat of the same
 * submission after an error has the same idempotency key, so that it cannot create two tasks.
 */
import type { Task } from '@task-gateway/sdk';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useConsole } from '../../gateway/console.ts';
import { describeError } from '../../parts/describe-error.ts';
import { tailOf } from '../../parts/format.ts';
import { showToast } from '../../parts/toast.tsx';
import { hrefOf, navigate } from '../../routing/routes.ts';
import type { Submission } from '../submission/copy-as.ts';
import { buildAgain, writeAgainKey } from '../submission/submit-again.ts';
import {
  type CheckedDraft,
  type Draft,
  type DraftField,
  draftOf,
  EMPTY_DRAFT,
  validateDraft,
} from './draft.ts';

export type Form = {
  readonly draft: Draft;
  readonly checked: CheckedDraft;
  /** The faults that are shown: of fields that were changed, or of a form that was sent. */
  readonly faults: CheckedDraft['faults'];
  readonly refusal: string | null;
  readonly isBusy: boolean;
  change(change: Partial<Draft>): void;
  submit(): Promise<void>;
};

/** What the address says: the task to fill in from, and the fields to change. */
export type FormQuery = {
  readonly from: string | null;
  readonly tags: readonly string[];
  readonly timeout: string | null;
  readonly queueTimeout: string | null;
};

export function readFormQuery(search: string): FormQuery {
  const query = new URLSearchParams(search);
  return {
    from: query.get('from'),
    tags: query.getAll('tag'),
    timeout: query.get('timeout'),
    queueTimeout: query.get('queue_timeout'),
  };
}

function applyQuery(draft: Draft, { tags, timeout, queueTimeout }: FormQuery): Draft {
  return {
    ...draft,
    ...(tags.length === 0 ? {} : { task_tags: tags }),
    ...(timeout === null ? {} : { timeout }),
    ...(queueTimeout === null ? {} : { queue_timeout: queueTimeout }),
  };
}

const NAMES: Readonly<Record<DraftField, string>> = {
  task_type: 'type',
  task_tags: 'tags',
  cli_session_id: 'session',
  payload: 'payload',
  timeout: 'timeout',
  queue_timeout: 'wait',
};

/** Keeps the state of the form for an address. */
export function useForm(query: FormQuery): Form {
  const { client, submitRefusal, time } = useConsole();
  const [draft, setDraft] = useState<Draft>(() => applyQuery(EMPTY_DRAFT, query));
  const [changed, setChanged] = useState<ReadonlySet<string>>(new Set());
  const [isBusy, setBusy] = useState(false);
  const [isLoading, setLoading] = useState(query.from !== null);
  const sent = useRef<{ readonly text: string; readonly key: string } | null>(null);
  useEffect(() => {
    const { from } = query;
    if (from === null) return;
    const leaving = new AbortController();
    void readAgain(client.sdk, from, leaving.signal).then(
      (submission) => {
        setDraft(applyQuery(draftOf(submission), query));
        setLoading(false);
      },
      (error: unknown) => {
        if (leaving.signal.aborted) return;
        setLoading(false);
        showToast({ tone: 'bad', text: `Could not read the task to fill in from: ${describeError(error)}.` });
      },
    );
    return () => leaving.abort();
  }, [query.from]);
  const checked = useMemo(() => validateDraft(draft), [draft]);
  const faults = useMemo(
    () => Object.fromEntries(Object.entries(checked.faults).filter(([field]) => changed.has(field))),
    [checked, changed],
  );
  const refusal = submitRefusal.value ?? (isLoading ? 'Reading the task…' : describeFaults(checked));
  const submit = async (): Promise<void> => {
    const { submission } = checked;
    if (refusal !== null || submission === null || isBusy) return;
    const text = JSON.stringify(submission);
    if (sent.current?.text !== text) {
      const key = query.from === null ? createKey() : writeAgainKey(query.from, time.now.peek());
      sent.current = { text, key };
    }
    setBusy(true);
    try {
      showSubmitted(await client.sdk.submitTask(submission, { idempotencyKey: sent.current.key }));
    } catch (error) {
      showToast({ tone: 'bad', text: `Could not submit the task: ${describeError(error)}.` });
      setBusy(false);
    }
  };
  return {
    draft,
    checked,
    faults,
    refusal,
    isBusy,
    submit,
    change(change) {
      setDraft((before) => ({ ...before, ...change }));
      setChanged((before) => new Set([...before, ...Object.keys(change)]));
    },
  };
}

async function readAgain(
  sdk: ReturnType<typeof useConsole>['client']['sdk'],
  request_id: string,
  signal: AbortSignal,
): Promise<Submission> {
  const [task, { queue_timeout }] = await Promise.all([
    sdk.getTask(request_id, { signal }),
    sdk.explainTask(request_id, { signal }),
  ]);
  return buildAgain(task, queue_timeout);
}

/** Creates a random key. `crypto.randomUUID` does not exist on a page without TLS. */
function createKey(): string {
  return `console-${crypto.getRandomValues(new Uint32Array(4)).join('-')}`;
}

/** For example, `Fix the payload first.` */
function describeFaults({ faults }: CheckedDraft): string | null {
  const [field] = Object.keys(faults);
  if (field === undefined) return null;
  return faults.task_type !== undefined && field === 'task_type'
    ? 'Write a type first.'
    : `Fix the ${NAMES[field as DraftField]} first.`;
}

function showSubmitted({ request_id }: Pick<Task, 'request_id'>): void {
  showToast({ tone: 'ok', text: `Submitted ${tailOf(request_id)}.` });
  navigate(hrefOf({ page: 'task', request_id }));
}
