/** The page of a task: why it did not run, its timeline, its payload, result and error. */
import { NotFoundError, type Question, type Task, type TaskExplanation } from '@task-gateway/sdk';
import type { VNode } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { useConsole, useWatch } from '../gateway/console.ts';
import { useCommands } from '../keyboard/commands.ts';
import { copyText } from '../parts/copy-button.tsx';
import { JsonPanel } from '../parts/json-tree.tsx';
import { loadLater } from '../parts/load-later.tsx';
import { usePageTitle } from '../parts/page-title.ts';
import { Panel } from '../parts/panel.tsx';
import { PartFailed } from '../parts/part-failed.tsx';
import { hrefOf, navigate } from '../routing/routes.ts';
import { listEventRows } from '../timeline/event-rows.ts';
import { EventTable } from '../timeline/event-table.tsx';
import { drawHistory, type Phases } from '../timeline/lanes.ts';
import { chooseOpenEnd } from '../timeline/scale.ts';
import { formatPhase } from '../timeline/time-words.ts';
import { Timeline } from '../timeline/timeline.tsx';
import { CancelOne } from './task/cancel-one.tsx';
import { addDetails } from './task/event-details.ts';
import { checkOpen, TaskAbout, TaskCrumb, TaskHead } from './task/task-head.tsx';
import { describeState } from './task/task-state.ts';
import { writeFormQuery } from './task/verdicts.ts';
import { Why } from './task/why.tsx';

const QuestionForm = loadLater(() => import('./task/question-form.tsx').then((part) => part.QuestionForm));
const OutputPanel = loadLater(() => import('./task/output-panel.tsx').then((part) => part.OutputPanel));

export function TaskPage({ request_id }: { readonly request_id: string }): VNode {
  const { client, changeRefusal, overview } = useConsole();
  const taskWatch = useWatch(`task ${request_id}`, client.readTask(request_id));
  const explanationWatch = useWatch(`explanation ${request_id}`, client.readExplanation(request_id));
  const [isCancelling, setCancelling] = useState(false);
  const [asked, setAsked] = useState<readonly Question[]>([]);
  const task = taskWatch.value.value;
  const explanation = explanationWatch.value.value;
  const isOver =
    task !== undefined && !checkOpen(task) && explanation !== undefined && explanation.outcome !== null;
  // A task that has ended never changes again.
  useEffect(() => {
    if (!isOver) return;
    taskWatch.stop();
    explanationWatch.stop();
  }, [isOver, taskWatch, explanationWatch]);
  usePageTitle(task?.task_type ?? 'Task');
  useCommands({
    up: () => navigate(hrefOf({ page: 'tasks' })),
    copy_id: () => void copyText(request_id, 'Copied the id.'),
    submit_again: () => navigate(hrefOf({ page: 'submit' }, writeFormQuery(request_id))),
    cancel: () => {
      if (task && checkOpen(task) && changeRefusal.peek() === null) setCancelling(true);
    },
  });
  const failure = taskWatch.failure.value;
  if (!task) return <TaskMissing request_id={request_id} failure={failure} />;
  const console = overview.value.value?.console;
  // The output shows a withdrawn question as open, so the explanation decides.
  const isOpen = ({ key }: Question): boolean =>
    explanation?.questions.some((one) => one.key === key && one.answered_time === null) ?? true;
  const open = console === undefined || console === 'read-only' ? [] : asked.filter(isOpen);
  return (
    <>
      <TaskHead {...{ task, explanation }} onCancel={() => setCancelling(true)} />
      <TaskAbout {...{ task, explanation }} />
      <div class="cols task">
        <div class="stack">
          {open.map((question) => (
            <QuestionForm key={question.key} {...{ request_id, question }} />
          ))}
          {explanation && <Why task={task} explanation={explanation} />}
          {explanation && <TimelinePanel explanation={explanation} timeout={task.timeout} />}
          {!explanation && explanationWatch.failure.value && (
            <Panel title="Timeline">
              <PartFailed what="what happened to the task" failure={explanationWatch.failure.value} />
            </Panel>
          )}
          <OutputPanel request_id={request_id} onQuestions={setAsked} />
        </div>
        <div class="stack">
          {task.error_info !== null && <ErrorPanel task={task} explanation={explanation} />}
          {task.result !== null && <JsonPanel title="Result" value={task.result} />}
          <JsonPanel title="Payload" value={task.payload} />
        </div>
      </div>
      {isCancelling && (
        <CancelOne
          task={task}
          state={describeState(task, explanation).state}
          onClose={() => setCancelling(false)}
          onCancelled={() => {
            void taskWatch.refresh();
            void explanationWatch.refresh();
          }}
        />
      )}
    </>
  );
}

type TaskMissingProps = {
  readonly request_id: string;
  readonly failure: Parameters<typeof PartFailed>[0]['failure'] | undefined;
};

/** Shown before the task is read, or if it cannot be read. */
function TaskMissing({ request_id, failure }: TaskMissingProps): VNode {
  const isUnknown = failure?.error instanceof NotFoundError;
  return (
    <>
      <TaskCrumb request_id={request_id} />
      <div class="head">
        <h1>{isUnknown ? 'No task has this id' : 'Task'}</h1>
        <span class="mono muted">{request_id}</span>
      </div>
      {isUnknown && (
        <p class="muted">A task is kept for 24 hours after it ends. An id that was copied may be cut.</p>
      )}
      {failure && !isUnknown && (
        <section class="panel">
          <PartFailed what="the task" failure={failure} />
        </section>
      )}
    </>
  );
}

type TimelinePanelProps = { readonly explanation: TaskExplanation; readonly timeout: number };

function TimelinePanel({ explanation, timeout }: TimelinePanelProps): VNode {
  const { time } = useConsole();
  const { history, history_dropped, ended_time, queue_timeout } = explanation;
  const silentTime = findSilence(explanation, time.shown.value);
  const now = Math.max(time.shown.value, history.at(-1)?.last_time ?? 0);
  const endTime = ended_time ?? now;
  const drawing = useMemo(() => drawHistory(history, endTime, silentTime), [history, endTime, silentTime]);
  const rows = useMemo(
    () => listEventRows(addDetails(history, { timeout, queue_timeout }), history_dropped),
    [history, history_dropped, timeout, queue_timeout],
  );
  const end = ended_time === null ? chooseOpenEnd(drawing.end) : drawing.end;
  return (
    <Panel title="Timeline" right={<PhaseList phases={drawing.phases} isOver={ended_time !== null} />}>
      <Timeline drawing={drawing} end={end} isOpen={ended_time === null} />
      <EventTable rows={rows} />
    </Panel>
  );
}

/** Finds the last contact of an agent that is silent or was lost; null for other agents. */
function findSilence({ agent, ended_time }: TaskExplanation, now: number): number | null {
  if (!agent) return null;
  const { contact_time, silent_time } = agent;
  const counts = ended_time !== null || (silent_time !== null && now >= silent_time);
  return counts ? contact_time : null;
}

const PHASES = [
  ['wait', 'waited', 'wait'],
  ['bad', 'not taken', 'bad'],
  ['run', 'ran', undefined],
  ['silent', 'agent silent', 'fail'],
] as const;

/** Draws how long each phase of the task was. */
function PhaseList({ phases, isOver }: { readonly phases: Phases; readonly isOver: boolean }): VNode {
  return (
    <span class="phases">
      {PHASES.map(([kind, word, hatching]) =>
        phases[kind] >= 0.001 ? (
          <span key={kind}>
            <svg aria-hidden="true">
              <rect
                class={hatching ? `o-${kind}` : 'bar-run o-run'}
                {...{ x: '.5', y: '.5', width: '13', height: '9', rx: '2' }}
                fill={hatching ? `url(#h-${hatching})` : 'none'}
              />
            </svg>
            {word} <b>{formatPhase(phases[kind], !isOver)}</b>
          </span>
        ) : null,
      )}
      {phases.run === 0 && isOver && <span>never ran</span>}
    </span>
  );
}

type ErrorPanelProps = { readonly task: Task; readonly explanation: TaskExplanation | undefined };

/** What each outcome means, for people. */
const MEANINGS: ReadonlyMap<string, string> = new Map([
  ['failed', 'The agent reported this.'],
  ['cancelled', 'A client or an administrator cancelled the task.'],
  ['timeout', 'The task was not finished within its timeout.'],
  ['agent_lost', 'The agent had no contact for longer than it said it would.'],
]);

function ErrorPanel({ task, explanation }: ErrorPanelProps): VNode {
  const outcome = explanation?.outcome ?? '';
  const waited = explanation?.queue_timeout ?? null;
  const noAgent =
    waited === null
      ? 'No agent qualified at that moment, and the task was not allowed to wait. It never ran.'
      : 'No agent qualified before the queue timeout. The task never ran.';
  const meaning = outcome === 'no_agent' ? noAgent : MEANINGS.get(outcome);
  return (
    <Panel title="Error">
      <div class="in">
        <p class="mono t-bad error-text">{task.error_info}</p>
        {meaning !== undefined && <p class="muted">{meaning}</p>}
      </div>
    </Panel>
  );
}
