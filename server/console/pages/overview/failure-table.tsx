/** Failed tasks by cause: a row for each type, agent and error. The row links to exactly these tasks. */
import type { VNode } from 'preact';
import type { FailureGroup } from '../../gateway/shapes.ts';
import { formatAge, formatNumber } from '../../parts/format.ts';
import { useHeldOrder } from '../../parts/held-order.ts';
import { Cell, type Column, Row, Table } from '../../parts/table.tsx';
import { hrefOf } from '../../routing/routes.ts';

/** The outcomes that count as failed, in the form of a filter. */
export const FAILED_OUTCOMES = 'failed,timeout,agent_lost';

const COLUMNS: readonly Column[] = [
  { head: 'Failed', width: 84 },
  { head: 'Type', width: 124 },
  { head: 'Agent', width: 150 },
  { head: 'Error' },
  { head: 'Since', width: 102, isNumber: true },
  { head: 'Last', width: 102, isNumber: true },
];

type Props = {
  readonly groups: readonly FailureGroup[];
  /** How many seconds the groups look back. */
  readonly window: number;
  readonly now: number;
};

export function FailureTable({ groups, window: span, now }: Props): VNode {
  const { rows, hold } = useHeldOrder(groups, keyOf);
  return (
    <div {...hold}>
      <Table columns={COLUMNS} label="Failed tasks by cause" class="failures">
        {rows.map((group) => (
          <GroupRow key={keyOf(group)} {...{ group, now }} search={writeSearch(group, span)} />
        ))}
      </Table>
    </div>
  );
}

function keyOf({ task_type, agent_id, outcome, first_time }: FailureGroup): string {
  return `${task_type}\n${agent_id}\n${outcome}\n${first_time}`;
}

/** Writes the filter that matches the tasks of a group. */
function writeSearch({ task_type, agent_id, outcome, error }: FailureGroup, span: number): string {
  const filters: Readonly<Record<string, string | null>> = {
    outcome,
    ended: `${Math.round(span / 60)}m`,
    type: task_type,
    agent: agent_id,
    error,
  };
  return `?${Object.entries(filters)
    .flatMap(([key, value]) => (value ? [`${key}=${encodeURIComponent(value)}`] : []))
    .join('&')}`;
}

type RowProps = { readonly group: FailureGroup; readonly search: string; readonly now: number };

function GroupRow({ group, search, now }: RowProps): VNode {
  const { task_type, agent_id, outcome, error, count, ended, first_time, last_time } = group;
  const href = hrefOf({ page: 'tasks' }, search);
  return (
    <Row href={href}>
      <Cell class="nowrap">
        <a class="cut" href={href} aria-label={`${count} of ${ended} failed, show these tasks`}>
          <b class="t-bad">{formatNumber(count)}</b> <span class="muted">of {formatNumber(ended)}</span>
        </a>
      </Cell>
      <Cell>
        <span class="cut" title={task_type}>
          {task_type}
        </span>
      </Cell>
      <Cell>
        {agent_id === null ? (
          <span class="muted">no agent</span>
        ) : (
          <a class="link cut" href={hrefOf({ page: 'agent', agent_id })} title={agent_id}>
            {agent_id}
          </a>
        )}
      </Cell>
      <Cell class="full">
        <span class="cut" title={error ?? outcome}>
          {error || outcome}
        </span>
      </Cell>
      <Cell class="num muted nowrap" label="since">
        {formatAge(now - first_time)}
      </Cell>
      <Cell class="num muted nowrap" label="last">
        {formatAge(now - last_time)}
      </Cell>
    </Row>
  );
}
