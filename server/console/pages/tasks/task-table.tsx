/** The rows of the list of tasks, each with the beginning of its payload or with its error. */
import type { VNode } from 'preact';
import { useConsole } from '../../gateway/console.ts';
import type { TaskRow } from '../../gateway/shapes.ts';
import { Chip, stateOf } from '../../parts/chip.tsx';
import { formatAge, formatClock, formatDuration, tailOf } from '../../parts/format.ts';
import type { ShownRow } from '../../parts/frozen-list.ts';
import { Cell, type Column, Row, Table } from '../../parts/table.tsx';
import { Tags } from '../../parts/tag.tsx';
import { AgentId, TaskId } from '../../parts/task-id.tsx';
import { hrefOf } from '../../routing/routes.ts';
import { PayloadOrError } from './payload-or-error.tsx';
import type { RowSelection } from './row-selection.ts';
import { stateOfRow } from './task-rows.ts';

export type TaskTableProps = {
  readonly rows: readonly ShownRow<TaskRow>[];
  readonly selection: RowSelection;
  /** Columns in which an exact filter allows only one value: `type`, `tag`, `agent`. */
  readonly pinned: ReadonlySet<string>;
  /** Tags that no agent has. */
  readonly missingTags: ReadonlySet<string>;
  readonly onToggle: (request_id: string, isRange: boolean) => void;
  readonly onTogglePage: () => void;
};

/** From this many seconds on, a wait or an untaken push is coloured. */
const LONG_WAIT_SECONDS = 30;

export function TaskTable(props: TaskTableProps): VNode {
  const { rows, selection, pinned, onTogglePage } = props;
  const areAll = rows.length > 0 && rows.every(({ id }) => selection.ids.has(id));
  const columns: readonly (Column & { readonly pin?: string })[] = [
    {
      head: (
        <input
          class="check"
          type="checkbox"
          aria-label="Select all on this page"
          checked={areAll}
          ref={(box) => {
            if (box) box.indeterminate = !areAll && selection.ids.size > 0;
          }}
          onChange={onTogglePage}
        />
      ),
      width: 40,
    },
    { head: 'Status', width: 128 },
    { head: 'Task', width: 94 },
    { head: 'Type', width: 148, pin: 'type' },
    { head: 'Payload or error' },
    { head: 'Tags', width: 158, pin: 'tag' },
    { head: 'Agent', width: 172, pin: 'agent' },
    { head: 'Waits or took', width: 122, isNumber: true },
    { head: 'Created', width: 78, isNumber: true },
  ];
  return (
    <Table columns={columns.filter(({ pin }) => pin === undefined || !pinned.has(pin))} label="Tasks">
      {rows.map((shown) => (
        <TaskTableRow key={shown.id} shown={shown} {...props} />
      ))}
    </Table>
  );
}

function TaskTableRow(props: TaskTableProps & { readonly shown: ShownRow<TaskRow> }): VNode {
  const { shown, selection, pinned, missingTags, onToggle } = props;
  const { row, isMissing } = shown;
  const { request_id, task_type, task_tags, agent_id, create_time, progress } = row;
  const isSelected = selection.ids.has(request_id);
  const mayLackAgents = row.waiting || row.outcome === 'no_agent';
  return (
    <Row
      href={hrefOf({ page: 'task', request_id })}
      rowId={request_id}
      class={[isSelected ? 'sel' : '', isMissing ? 'dim' : ''].join(' ').trim()}
    >
      <Cell>
        <input
          class="check"
          type="checkbox"
          aria-label={`Select ${tailOf(request_id)}`}
          checked={isSelected}
          onClick={(event) => onToggle(request_id, event.shiftKey)}
        />
      </Cell>
      <Cell>
        <Chip state={stateOfRow(row)} progress={progress} />
      </Cell>
      <Cell class="n-id">
        <TaskId request_id={request_id} />
      </Cell>
      {!pinned.has('type') && (
        <Cell class="n-type">
          <b class="cut" title={task_type}>
            {task_type}
          </b>
        </Cell>
      )}
      <Cell class="full n-pay">
        <PayloadOrError row={row} />
      </Cell>
      {!pinned.has('tag') && (
        <Cell class="n-rest">
          <Tags
            tags={task_tags}
            max={2}
            isOneRow
            kindOf={(tag) => (mayLackAgents && missingTags.has(tag) ? 'none' : 'plain')}
          />
        </Cell>
      )}
      {!pinned.has('agent') && (
        <Cell class={agent_id === null ? 'hide' : 'n-agent'}>
          {agent_id === null ? <span class="faint">none</span> : <AgentId agent_id={agent_id} />}
        </Cell>
      )}
      <Cell class="num n-time">
        <Took row={row} isMissing={isMissing} />
      </Cell>
      <Cell class="num muted nowrap hide">
        <span title={new Date(create_time * 1_000).toISOString()}>{formatClock(create_time)}</span>
      </Cell>
    </Row>
  );
}

/** Draws how long a task waits, is not taken, runs or took. */
function Took({ row, isMissing }: { readonly row: TaskRow; readonly isMissing: boolean }): VNode {
  const { time } = useConsole();
  const { create_time, ended_time, assigned_time } = row;
  if (ended_time !== null) return <span class="nowrap">{formatDuration(ended_time - create_time)}</span>;
  if (isMissing) {
    return (
      <span class="faint" title="The task has changed and no longer matches the filter.">
        changed
      </span>
    );
  }
  const now = time.shown.value;
  const state = stateOf(row);
  const isUntaken = state === 'not_taken';
  const seconds = now - (isUntaken ? (assigned_time ?? create_time) : create_time);
  const isLong = seconds > LONG_WAIT_SECONDS && (isUntaken || state === 'pending');
  const title = isUntaken ? `Not taken since then; submitted ${formatAge(now - create_time)} ago.` : '';
  return (
    <span class={isLong ? `nowrap b ${isUntaken ? 't-bad' : 't-wait'}` : 'nowrap'} title={title}>
      {state === 'pending' ? 'waits ' : isUntaken ? 'for ' : ''}
      {formatAge(seconds)}
    </span>
  );
}
