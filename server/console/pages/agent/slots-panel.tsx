/** The slots of an agent, each with its task. */
import type { VNode } from 'preact';
import type { AgentDetail, AgentTask } from '../../gateway/shapes.ts';
import { formatAge, formatCount, formatNumber, tailOf } from '../../parts/format.ts';
import { Panel } from '../../parts/panel.tsx';
import { countSlots } from '../../parts/slots.tsx';
import { hrefOf } from '../../routing/routes.ts';

/** How many boxes are drawn; more would say no more. */
const BOXES_MAX = 48;

type Props = { readonly agent: AgentDetail; readonly now: number };

export function SlotsPanel({ agent, now }: Props): VNode {
  const { slots, running } = agent;
  const others = countSlots(agent).filter(({ kind }) => kind !== 'busy' && kind !== 'risk');
  const boxes = others.flatMap(({ kind, count }) =>
    Array.from({ length: Math.min(count, BOXES_MAX) }, (_, index) => ({ kind, index })),
  );
  const shown = boxes.slice(0, Math.max(0, BOXES_MAX - slots.length));
  const hidden = others.reduce((sum, { count }) => sum + count, 0) - shown.length;
  return (
    <Panel title="Slots" note={describeTasks(agent)}>
      <div class="in">
        <div class="bigslots">
          {slots.map((task) => (
            <TaskSlot key={task.request_id} task={task} now={now} />
          ))}
          {shown.map(({ kind, index }) => (
            <div key={`${kind}${index}`} class="bigslot empty">
              <small>{WORDS[kind]}</small>
            </div>
          ))}
        </div>
        {running > slots.length && (
          <p class="muted">{formatNumber(running - slots.length)} more tasks are not shown.</p>
        )}
        {hidden > 0 && <p class="muted">{formatNumber(hidden)} more slots are not shown.</p>}
      </div>
    </Panel>
  );
}

const WORDS = { ext: 'load from elsewhere', shut: 'not eligible', free: 'free', busy: '', risk: '' };

function describeTasks({ running, unacknowledged }: AgentDetail): string {
  if (running === 0) return 'no task';
  const tasks = formatCount(running, 'task');
  if (unacknowledged === 0) return tasks;
  if (unacknowledged < running) return `${tasks}, ${formatNumber(unacknowledged)} assigned and not taken`;
  return running === 1 ? `${tasks}, assigned and not taken` : `${tasks}, all assigned and not taken`;
}

type SlotProps = { readonly task: AgentTask; readonly now: number };

function TaskSlot({ task, now }: SlotProps): VNode {
  const { request_id, task_type, acknowledged, assigned_time, progress } = task;
  const age = formatAge(now - assigned_time);
  return (
    <a
      class={acknowledged ? 'bigslot busy' : 'bigslot busy risk'}
      href={hrefOf({ page: 'task', request_id })}
    >
      <span class="t cut" title={task_type}>
        {task_type}
      </span>
      <small class="mono" title={request_id}>
        {tailOf(request_id)}
      </small>
      {acknowledged ? (
        <small>
          {progress > 0 ? `${progress} %, ` : ''}
          runs {age}
        </small>
      ) : (
        <small class="t-bad">not taken, {age}</small>
      )}
    </a>
  );
}
