/** The exact table of what happened to a task: offsets, gaps, events, agents, details. */
import type { VNode } from 'preact';
import { formatClock, formatCount, formatNumber } from '../parts/format.ts';
import { Icon } from '../parts/icon.tsx';
import { Cell, type Column, Row, Table } from '../parts/table.tsx';
import { AgentId } from '../parts/task-id.tsx';
import { describeEvent } from './event-kinds.ts';
import type { EventRow } from './event-rows.ts';
import { formatGap, formatOffset } from './time-words.ts';

const COLUMNS: readonly Column[] = [
  { head: 'At', width: 104, isNumber: true },
  { head: 'Gap', width: 78, isNumber: true },
  { head: 'Event', width: 186 },
  { head: 'Agent', width: 184 },
  { head: 'Detail' },
];
/** A gap of at least this length is bold. */
const LONG_GAP_SECONDS = 1;

export function EventTable({ rows }: { readonly rows: readonly EventRow[] }): VNode {
  return (
    <Table columns={COLUMNS} class="ev" label="What happened to the task">
      {rows.map((row, index) => (row.kind === 'dropped' ? drawDropped(row.count) : drawEvent(row, index)))}
    </Table>
  );
}

function drawDropped(count: number): VNode {
  return (
    <Row key="dropped">
      <Cell />
      <Cell />
      <Cell class="full muted">{formatCount(count, 'event is', 'events are')} not kept</Cell>
      <Cell />
      <Cell />
    </Row>
  );
}

function drawEvent(
  { entry, count, offset, gap }: Extract<EventRow, { kind: 'event' }>,
  index: number,
): VNode {
  const { icon, title, tone } = describeEvent(entry.event);
  const hasColour = tone === 'bad' || tone === 'ok' || tone === 'wait';
  return (
    <Row key={index}>
      <Cell class="num mono">
        <span title={`${formatClock(entry.time, { ms: true })} UTC`}>{formatOffset(offset)}</span>
      </Cell>
      <Cell class={`num gap${gap !== null && gap >= LONG_GAP_SECONDS ? ' big' : ''}`}>
        {gap === null ? '' : formatGap(gap)}
      </Cell>
      <Cell>
        <span class={hasColour ? `name t-${tone}` : 'name'}>
          <Icon name={icon} />
          {title}
          {count > 1 && <b> × {formatNumber(count)}</b>}
        </span>
      </Cell>
      <Cell>{entry.agent_id !== null && <AgentId agent_id={entry.agent_id} />}</Cell>
      <Cell class="muted full">{entry.detail}</Cell>
    </Row>
  );
}
