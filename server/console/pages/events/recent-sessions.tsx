/** The sessions of the newest tasks, to choose from. */
import type { VNode } from 'preact';
import { useConsole, useWatch } from '../../gateway/console.ts';
import type { TaskRow } from '../../gateway/shapes.ts';
import { formatAgo, formatCount } from '../../parts/format.ts';
import { useHeldOrder } from '../../parts/held-order.ts';
import { Panel } from '../../parts/panel.tsx';
import { PartFailed } from '../../parts/part-failed.tsx';
import { Cell, type Column, Row, Table } from '../../parts/table.tsx';
import { hrefOf } from '../../routing/routes.ts';

/** How many of the newest tasks are read. */
const ROWS_LIMIT = 200;
const SESSIONS_MAX = 12;
const COLUMNS: readonly Column[] = [
  { head: 'Session' },
  { head: 'Its newest tasks', width: 140, isNumber: true },
  { head: 'Last submission', width: 140, isNumber: true },
];

/** A session, how many of the read tasks belong to it, and when the newest of them was submitted. */
export type RecentSession = { readonly session: string; readonly count: number; readonly time: number };

/** Lists the sessions of rows. Both are sorted newest first. Tasks without a session are left out. Pure. */
export function listSessions(
  rows: readonly Pick<TaskRow, 'cli_session_id' | 'create_time'>[],
): readonly RecentSession[] {
  const sessions = new Map<string, RecentSession>();
  for (const { cli_session_id: session, create_time: time } of rows) {
    if (session === '') continue;
    const before = sessions.get(session);
    sessions.set(session, before ? { ...before, count: before.count + 1 } : { session, count: 1, time });
  }
  return [...sessions.values()].slice(0, SESSIONS_MAX);
}

export function RecentSessions(): VNode | null {
  const { client, time } = useConsole();
  const watch = useWatch('recent sessions', client.readTasks({ limit: ROWS_LIMIT }));
  const page = watch.value.value;
  const failure = watch.failure.value;
  const { rows, hold } = useHeldOrder(listSessions(page?.tasks ?? []), ({ session }) => session);
  if (!page && !failure) return null;
  return (
    <Panel title="Recent sessions" note={`of the ${ROWS_LIMIT} newest tasks`}>
      {failure && !page && <PartFailed what="the newest tasks" failure={failure} isOnly />}
      {page && rows.length === 0 && (
        <p class="in muted">
          {page.tasks.length === 0 ? 'No task is kept.' : 'None of the newest tasks names a session.'}
        </p>
      )}
      {rows.length > 0 && (
        <div {...hold}>
          <Table columns={COLUMNS} label="Recent sessions" isStackable={false}>
            {rows.map(({ session, count, time: newest }) => {
              const href = hrefOf({ page: 'events' }, `?session=${encodeURIComponent(session)}`);
              return (
                <Row key={session} href={href} rowId={session}>
                  <Cell>
                    <a class="mono cut" href={href} title={session}>
                      {session}
                    </a>
                  </Cell>
                  <Cell class="num">{formatCount(count, 'task')}</Cell>
                  <Cell class="num muted nowrap">{formatAgo(time.shown.value - newest)}</Cell>
                </Row>
              );
            })}
          </Table>
        </div>
      )}
    </Panel>
  );
}
