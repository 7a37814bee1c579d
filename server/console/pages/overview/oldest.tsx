/** The tasks that have waited longest. */
import type { VNode } from 'preact';
import type { WaitingTask } from '../../gateway/shapes.ts';
import { formatAge, formatNumber } from '../../parts/format.ts';
import { useHeldOrder } from '../../parts/held-order.ts';
import { Panel } from '../../parts/panel.tsx';
import { Cell, type Column, Row, Table } from '../../parts/table.tsx';
import { hrefOf } from '../../routing/routes.ts';

const COLUMNS: readonly Column[] = [
  { head: 'Waits', width: 104 },
  { head: 'Task' },
  { head: 'Gives up in', width: 96, isNumber: true },
];

type Props = {
  readonly tasks: readonly WaitingTask[];
  /** How many tasks wait in all. */
  readonly total: number;
  readonly now: number;
};

export function OldestPanel({ tasks, total, now }: Props): VNode {
  const { rows, hold } = useHeldOrder(tasks, ({ request_id }) => request_id);
  const all = (
    <a class="link muted" href={hrefOf({ page: 'tasks' }, '?waiting=true')}>
      All {formatNumber(total)}
    </a>
  );
  return (
    <Panel title="Oldest waiting" {...(total > 0 && { right: all })}>
      {tasks.length === 0 ? (
        <div class="in">
          <p class="muted">No task waits for an agent.</p>
        </div>
      ) : (
        <div {...hold}>
          <Table columns={COLUMNS} isStackable={false} label="Oldest waiting">
            {rows.map((task) => (
              <WaitingRow key={task.request_id} task={task} now={now} />
            ))}
          </Table>
        </div>
      )}
    </Panel>
  );
}

function WaitingRow({ task, now }: { readonly task: WaitingTask; readonly now: number }): VNode {
  const { request_id, task_type, task_tags, create_time, gives_up_time } = task;
  const href = hrefOf({ page: 'task', request_id });
  return (
    <Row href={href}>
      <Cell>
        <b class="t-wait nowrap">{formatAge(now - create_time)}</b>
      </Cell>
      <Cell>
        <a class="cut" href={href} title={request_id}>
          <b>{task_type}</b> <span class="muted">{task_tags.join(', ')}</span>
        </a>
      </Cell>
      <Cell class="num muted nowrap">{formatAge(gives_up_time - now)}</Cell>
    </Row>
  );
}
