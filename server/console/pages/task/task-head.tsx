/** The head of a task's page: what the task is, its state, and what can be done with it. */
import type { Task, TaskExplanation } from '@task-gateway/sdk';
import type { VNode } from 'preact';
import { useConsole } from '../../gateway/console.ts';
import { Chip } from '../../parts/chip.tsx';
import { CopyButton } from '../../parts/copy-button.tsx';
import { Entry } from '../../parts/entry.tsx';
import { formatAge, formatAgo, formatClock, formatDuration, tailOf } from '../../parts/format.ts';
import { Icon } from '../../parts/icon.tsx';
import { Tags } from '../../parts/tag.tsx';
import { hrefOf } from '../../routing/routes.ts';
import { buildAgain } from '../submission/submit-again.ts';
import { CopyMenu } from './copy-menu.tsx';
import { describeState } from './task-state.ts';
import { writeFormQuery } from './verdicts.ts';

export type TaskHeadProps = {
  readonly task: Task;
  /** Undefined until it is read. */
  readonly explanation: TaskExplanation | undefined;
  readonly onCancel: () => void;
};

/** Whether a task may still change. */
export function checkOpen({ status }: { readonly status: string }): boolean {
  return status === 'pending' || status === 'running';
}

/** Draws the way back, the state, the type, the id and the actions. */
export function TaskHead({ task, explanation, onCancel }: TaskHeadProps): VNode {
  const { changeRefusal } = useConsole();
  const { request_id, task_type, progress } = task;
  const refusal = changeRefusal.value;
  return (
    <>
      <TaskCrumb request_id={request_id} />
      <div class="head split">
        <Chip state={describeState(task, explanation).state} progress={progress} big />
        <h1>{task_type}</h1>
        <span class="idline only-wide">
          <span class="mono">{request_id}</span>
          <CopyButton text={request_id} label="Copy the id" done="Copied the id." />
        </span>
        <span class="grow" />
        <a class="btn primary" href={hrefOf({ page: 'submit' }, writeFormQuery(request_id))}>
          <Icon name="again" />
          Submit again…
        </a>
        <CopyMenu submission={buildAgain(task, explanation?.queue_timeout ?? null)} />
        {checkOpen(task) && (
          <button
            class="btn danger"
            type="button"
            aria-disabled={refusal !== null}
            title={refusal ?? ''}
            onClick={() => refusal === null && onCancel()}
          >
            Cancel…
          </button>
        )}
      </div>
      {checkOpen(task) && refusal !== null && <p class="muted refusal">{refusal}</p>}
    </>
  );
}

/** Draws the way back to the list. */
export function TaskCrumb({ request_id }: { readonly request_id: string }): VNode {
  return (
    <nav class="crumb" aria-label="Where">
      <a class="link" href={hrefOf({ page: 'tasks' })}>
        Tasks
      </a>
      <Icon name="right" />
      <span class="mono">{tailOf(request_id)}</span>
    </nav>
  );
}

/** Draws the submitted fields of the task, its agent, and its times. */
export function TaskAbout({ task, explanation }: Omit<TaskHeadProps, 'onCancel'>): VNode {
  const { time } = useConsole();
  const { task_tags, agent_id, cli_session_id, create_time, timeout } = task;
  const now = time.shown.value;
  const missing = new Set(explanation?.match?.tags.flatMap(({ tag, agents }) => (agents === 0 ? [tag] : [])));
  const queueTimeout = explanation?.queue_timeout ?? null;
  return (
    <dl class="about">
      <Entry name="Tags">
        {task_tags.length === 0 ? (
          'none, no agent can take it'
        ) : (
          <Tags tags={task_tags} kindOf={(tag) => (missing.has(tag) ? 'none' : 'plain')} />
        )}
      </Entry>
      <Entry name="Agent">
        {agent_id === null && (checkOpen(task) ? 'none yet' : 'none, never assigned')}
        {agent_id !== null && (
          <a class="link mono" href={hrefOf({ page: 'agent', agent_id })}>
            {agent_id}
          </a>
        )}
      </Entry>
      <Entry name="Session">
        {cli_session_id === '' && 'none'}
        {cli_session_id !== '' && (
          <a
            class="link mono"
            href={hrefOf({ page: 'events' }, `?session=${encodeURIComponent(cli_session_id)}`)}
          >
            {cli_session_id}
          </a>
        )}
      </Entry>
      <Entry name="Created" title={new Date(create_time * 1_000).toISOString()}>
        {formatClock(create_time)} UTC, {formatAgo(now - create_time)}
      </Entry>
      <Took task={task} explanation={explanation} now={now} />
      <Entry name="Timeout">{formatDuration(timeout)}</Entry>
      {queueTimeout !== null && <Entry name="Waits for an agent">up to {formatDuration(queueTimeout)}</Entry>}
    </dl>
  );
}

type TookProps = {
  readonly task: Task;
  readonly explanation: TaskExplanation | undefined;
  readonly now: number;
};

const OPEN_WORDS: ReadonlyMap<string, string> = new Map([
  ['pending', 'Waits'],
  ['not_taken', 'Not taken for'],
]);

function Took({ task, explanation, now }: TookProps): VNode {
  const ended = explanation?.ended_time;
  const { state, since } = describeState(task, explanation);
  const word = !checkOpen(task)
    ? task.status === 'success'
      ? 'Took'
      : 'Ended after'
    : (OPEN_WORDS.get(state) ?? 'Runs');
  const length = checkOpen(task)
    ? formatAge(now - since)
    : typeof ended === 'number'
      ? formatDuration(ended - task.create_time)
      : '…';
  return (
    <Entry name={word}>
      <b>{length}</b>
    </Entry>
  );
}
