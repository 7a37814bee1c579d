/** The events of a session as rows. */
import type { VNode } from 'preact';
import { Chip } from '../../parts/chip.tsx';
import { formatClock } from '../../parts/format.ts';
import { showText } from '../../parts/json-model.ts';
import { Cell, type Column, Row, Table } from '../../parts/table.tsx';
import { TaskId } from '../../parts/task-id.tsx';
import { hrefOf } from '../../routing/routes.ts';
import { Pairs } from '../tasks/pairs.tsx';
import type { ShownEvent } from './event-list.ts';
import { useTaskTypes } from './task-type-lookup.ts';

const COLUMNS: readonly Column[] = [
  { head: 'Cursor', width: 170 },
  { head: 'Time', width: 108, isNumber: true },
  { head: 'Task', width: 112 },
  { head: 'Type', width: 140 },
  { head: 'Status', width: 124 },
  { head: 'Result or error' },
];

/** Draws the rows. A cursor links to the stream that follows it. */
export function EventRows({
  events,
  session,
}: {
  readonly events: readonly ShownEvent[];
  readonly session: string;
}): VNode {
  const types = useTaskTypes(
    session,
    events.map(({ request_id }) => request_id),
  );
  return (
    <Table columns={COLUMNS} label="Events">
      {events.map((event) => (
        <EventRow
          key={event.request_id}
          event={event}
          session={session}
          type={types.get(event.request_id) ?? null}
        />
      ))}
    </Table>
  );
}

type EventRowProps = {
  readonly event: ShownEvent;
  readonly session: string;
  /** The type of the event's task; null if it is not known. */
  readonly type: string | null;
};

function EventRow({ event, session, type }: EventRowProps): VNode {
  const { request_id, cursor, outcome, time, error_info, preview } = event;
  const behind = new URLSearchParams({ session, after: cursor });
  return (
    <Row href={hrefOf({ page: 'task', request_id })} rowId={request_id}>
      <Cell class="n-rest">
        <span class="mono muted cut" title={cursor}>
          {cursor}
        </span>
      </Cell>
      <Cell class="num n-time">{formatClock(time)}</Cell>
      <Cell class="n-id">
        <TaskId request_id={request_id} />
      </Cell>
      <Cell class="n-type">
        <b class="cut" title={type ?? ''}>
          {type}
        </b>
      </Cell>
      <Cell>
        <Chip state={outcome} />
      </Cell>
      <Cell class="full n-pay">
        <span class="event-end">
          {preview !== null && <Pairs text={preview} />}
          {error_info !== null && (
            <span class={outcome === 'cancelled' ? 'cut muted' : 'cut t-bad'} title={error_info}>
              {showText(error_info)}
            </span>
          )}
          <a class="link muted behind" href={hrefOf({ page: 'events' }, `?${behind}`)}>
            Follow from here
          </a>
        </span>
      </Cell>
    </Row>
  );
}
