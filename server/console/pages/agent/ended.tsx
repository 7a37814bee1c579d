/** The tasks of an agent that ended lately. */
import type { VNode } from 'preact';
import { useConsole, useWatch } from '../../gateway/console.ts';
import type { TaskRow } from '../../gateway/shapes.ts';
import { Chip, stateOf } from '../../parts/chip.tsx';
import { formatClock, formatDuration } from '../../parts/format.ts';
import { Panel } from '../../parts/panel.tsx';
import { PartFailed } from '../../parts/part-failed.tsx';
import { Cell, type Column, Row, Table } from '../../parts/table.tsx';
import { TaskId } from '../../parts/task-id.tsx';
import { hrefOf } from '../../routing/routes.ts';
import { PayloadOrError } from '../tasks/payload-or-error.tsx';

const ROWS_MAX = 8;
const COLUMNS: readonly Column[] = [
  { head: 'Status', width: 110 },
  { head: 'Task', width: 96 },
  { head: 'Type', width: 150 },
  { head: 'Payload or error' },
  { head: 'Took', width: 110, isNumber: true },
  { head: 'Ended', width: 84, isNumber: true },
];

type EndedProps = { readonly agent_id: string; readonly isByCreation?: boolean };

/**
 * Draws the panel. The gateway knows the last 500 tasks that ended, by their end. If none of them ended at
 * this agent, the panel lists the agent's tasks that were submitted last.
 */
export function EndedPanel({ agent_id, isByCreation = false }: EndedProps): VNode {
  const { client } = useConsole();
  const ended = { agent: agent_id, status: ['success', 'failed'], limit: ROWS_MAX };
  const query = isByCreation ? ended : { ...ended, ended_after: 0 };
  const watch = useWatch(`ended at ${agent_id}`, client.readTasks(query));
  const page = watch.value.value;
  const failure = watch.failure.value;
  if (page?.tasks.length === 0 && !isByCreation) return <EndedPanel agent_id={agent_id} isByCreation />;
  const all = (
    <a
      class="link muted"
      href={hrefOf({ page: 'tasks' }, `?agent=${encodeURIComponent(agent_id)}&status=success,failed`)}
    >
      All
    </a>
  );
  return (
    <Panel title="Ended here" note={isByCreation ? 'submitted last first' : 'ended last first'} right={all}>
      {failure && !page && <PartFailed what="its tasks" failure={failure} />}
      {page && page.tasks.length === 0 && (
        <div class="in">
          <p class="muted">
            None of the tasks that are kept ended here{page.next_cursor === null ? '' : ' of late'}.
          </p>
        </div>
      )}
      {page && page.tasks.length > 0 && (
        <Table columns={COLUMNS} label="Ended here">
          {page.tasks.map((task) => (
            <EndedRow key={task.request_id} task={task} />
          ))}
        </Table>
      )}
    </Panel>
  );
}

function EndedRow({ task }: { readonly task: TaskRow }): VNode {
  const { request_id, task_type, create_time, ended_time } = task;
  return (
    <Row href={hrefOf({ page: 'task', request_id })}>
      <Cell>
        <Chip state={stateOf(task)} />
      </Cell>
      <Cell class="n-id">
        <TaskId request_id={request_id} />
      </Cell>
      <Cell class="n-type">
        <b class="cut" title={task_type}>
          {task_type}
        </b>
      </Cell>
      <Cell class="full n-pay">
        <PayloadOrError row={task} />
      </Cell>
      <Cell class="num nowrap n-time" label="took">
        {ended_time !== null && formatDuration(ended_time - create_time)}
      </Cell>
      <Cell class="num muted nowrap hide">{ended_time !== null && formatClock(ended_time)}</Cell>
    </Row>
  );
}
