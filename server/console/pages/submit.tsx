/**
 * The page that submits a task: a form, whether the task would run now, and the same submission for a
 * terminal.
 */
import type { VNode } from 'preact';
import { useCommands } from '../keyboard/commands.ts';
import { tailOf } from '../parts/format.ts';
import { usePageTitle } from '../parts/page-title.ts';
import { address, hrefOf, navigate } from '../routing/routes.ts';
import { DraftForm } from './submit/draft-form.tsx';
import { SameAs } from './submit/same-as.tsx';
import { readFormQuery, useForm } from './submit/use-form.ts';
import { WouldItRun } from './submit/would-it-run.tsx';

/** Draws the page. Another address gets a fresh form. */
export function SubmitPage(): VNode {
  const { search } = address.value;
  usePageTitle('Submit');
  return <SubmitForm key={search} search={search} />;
}

function SubmitForm({ search }: { readonly search: string }): VNode {
  const query = readFormQuery(search);
  const form = useForm(query);
  const { draft, checked, faults, refusal, isBusy } = form;
  useCommands({
    submit: () => void form.submit(),
    up: () =>
      navigate(hrefOf(query.from === null ? { page: 'tasks' } : { page: 'task', request_id: query.from })),
  });
  const waitSeconds = Number(draft.queue_timeout) || 0;
  return (
    <>
      <div class="head">
        <h1>Submit a task</h1>
        {query.from !== null && (
          <span class="muted">
            filled in from{' '}
            <a class="link mono" href={hrefOf({ page: 'task', request_id: query.from })}>
              {tailOf(query.from)}
            </a>
          </span>
        )}
        <span class="grow" />
        {search !== '' && (
          <a class="btn quiet" href={hrefOf({ page: 'submit' })}>
            Start empty
          </a>
        )}
      </div>
      <div class="cols submit">
        <DraftForm
          {...{ draft, faults, refusal, isBusy }}
          onChange={form.change}
          onSubmit={() => void form.submit()}
        />
        <div class="stack">
          <WouldItRun
            tags={checked.faults.task_tags === undefined ? draft.task_tags : []}
            waitSeconds={waitSeconds}
          />
          <SameAs submission={checked.submission} />
        </div>
      </div>
    </>
  );
}
