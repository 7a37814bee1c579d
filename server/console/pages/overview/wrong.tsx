/** The present problems, the most urgent first, each with its remedy. */
import type { VNode } from 'preact';
import type { OverviewProblem } from '../../gateway/shapes.ts';
import { CodedText } from '../../parts/coded-text.tsx';
import { formatCoarse } from '../../parts/format.ts';
import { useHeldOrder } from '../../parts/held-order.ts';
import { Icon, type IconName } from '../../parts/icon.tsx';
import { NewRows } from '../../parts/new-rows.tsx';
import { Panel } from '../../parts/panel.tsx';
import { countProblems, describeProblems } from '../../parts/problem-words.ts';
import { hrefOf } from '../../routing/routes.ts';
import { FAILED_OUTCOMES } from './failure-table.tsx';

type Props = {
  readonly problems: readonly OverviewProblem[];
  /** How many problems are not shown yet. They wait so that nothing moves. */
  readonly newCount: number;
  readonly now: number;
  readonly onShowNew: () => void;
};

export function WrongPanel({ problems, newCount, now, onShowNew }: Props): VNode {
  const { rows, hold } = useHeldOrder(problems, keyOf);
  const { problems: serious, warnings } = countProblems(problems);
  const right = (
    <>
      <NewRows count={newCount} onShow={onShowNew} />
      <span class="note muted">{describeProblems(problems)}</span>
    </>
  );
  return (
    <Panel title="Wrong now" id="wrong" right={right}>
      {serious + warnings === 0 && (
        <div class="in">
          <p class="verdict t-ok">
            <Icon name="check" />
            Nothing is wrong.
          </p>
          <p class="muted">
            Every waiting tag has an agent, pushes are taken, tasks succeed, the store answers.
          </p>
        </div>
      )}
      {rows.length > 0 && (
        <ul class="wrong" {...hold}>
          {rows.map((problem) => (
            <ProblemEntry key={keyOf(problem)} problem={problem} now={now} />
          ))}
        </ul>
      )}
    </Panel>
  );
}

function keyOf({ code, tag, agent_id, task_type }: OverviewProblem): string {
  return `${code}\n${tag ?? ''}\n${agent_id ?? ''}\n${task_type ?? ''}`;
}

/** Counts the present problems that are not shown. Pure. */
export function countNewProblems(
  shown: readonly OverviewProblem[],
  present: readonly OverviewProblem[],
): number {
  const keys = new Set(shown.map(keyOf));
  return present.filter((problem) => !keys.has(keyOf(problem))).length;
}

type Look = { readonly icon: IconName; readonly tone: string; readonly name: string };

const WARNING: Look = { icon: 'warn', tone: 't-wait', name: 'Warning' };
const LOOKS: Readonly<Record<string, Look>> = {
  problem: { icon: 'alert', tone: 't-bad', name: 'Problem' },
  warning: WARNING,
  note: { icon: 'info', tone: 'muted', name: 'Note' },
};

function ProblemEntry({ problem, now }: { readonly problem: OverviewProblem; readonly now: number }): VNode {
  const { severity, text, help, since } = problem;
  const { icon, tone, name } = LOOKS[severity] ?? WARNING;
  return (
    <li {...(severity === 'note' && { class: 'muted' })}>
      <Icon name={icon} class={tone} />
      <p>
        <span class="vh">{name}: </span>
        <CodedText text={text} />
      </p>
      <span class="since">{since !== null && formatCoarse(now - since, 60)}</span>
      <span class="more">
        {help !== null && <CodedText text={help} />} <ProblemLink problem={problem} />
      </span>
    </li>
  );
}

function ProblemLink({ problem }: { readonly problem: OverviewProblem }): VNode | null {
  const { code, tag, agent_id, task_type } = problem;
  if (code === 'waiting_for_answer') {
    return (
      <a class="link" href={hrefOf({ page: 'tasks' }, '?waiting_for_answer=true')}>
        Show the tasks
      </a>
    );
  }
  if (task_type !== null) {
    const agent = agent_id === null ? '' : `&agent=${encodeURIComponent(agent_id)}`;
    const search = `?outcome=${FAILED_OUTCOMES}&ended=15m&type=${encodeURIComponent(task_type)}${agent}`;
    return (
      <a class="link" href={hrefOf({ page: 'tasks' }, search)}>
        Show the tasks
      </a>
    );
  }
  if (agent_id !== null) {
    return (
      <a class="link" href={hrefOf({ page: 'agent', agent_id })}>
        Show the agent
      </a>
    );
  }
  if (tag === null) return null;
  return (
    <a class="link" href={hrefOf({ page: 'tasks' }, `?tag=${encodeURIComponent(tag)}`)}>
      Show the tasks
    </a>
  );
}
