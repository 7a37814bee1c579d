/**
 * The types of the tasks whose events are shown: an event does not name its task's type, the rows of the
 * session's tasks do. They are read when an event is shown whose type is not known: at most 200 rows a call
 * and three calls in a row, and never more often than every 2 s. Others have no type here.
 */
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { ConsoleClient } from '../../gateway/client.ts';
import { useConsole } from '../../gateway/console.ts';

const ROWS_LIMIT = 200;
const CALLS_MAX = 3;
const PAUSE_MS = 2_000;

/** Reads types by id, until all that are asked for are known or the calls are used up. */
export async function readTypes(
  client: Pick<ConsoleClient, 'readTasks'>,
  session: string,
  wanted: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  const types = new Map<string, string>();
  let cursor: string | undefined;
  for (let calls = 0; calls < CALLS_MAX; calls += 1) {
    const query = { session, limit: ROWS_LIMIT, ...(cursor === undefined ? {} : { cursor }) };
    const found = await client.readTasks(query)(null, signal);
    if (found === 'unchanged') break;
    for (const { request_id, task_type } of found.value.tasks) types.set(request_id, task_type);
    cursor = found.value.next_cursor ?? undefined;
    if (cursor === undefined || [...wanted].every((id) => types.has(id))) break;
  }
  return types;
}

/** The types that are known of the tasks with these ids; null of one that was looked for in vain. */
export function useTaskTypes(session: string, ids: readonly string[]): ReadonlyMap<string, string | null> {
  const { client } = useConsole();
  const types = useSignal<ReadonlyMap<string, string | null>>(new Map());
  const readAtMs = useRef(0);
  const unknown = ids.filter((id) => !types.value.has(id));
  const isComplete = unknown.length === 0;
  const latest = useRef(unknown);
  latest.current = unknown;
  useEffect(() => {
    if (isComplete) return;
    const leaving = new AbortController();
    const read = async (): Promise<void> => {
      readAtMs.current = performance.now();
      const wanted = new Set(latest.current);
      // Without its type an event is still an event: the next one asks again.
      const found = await readTypes(client, session, wanted, leaving.signal).catch(
        () => new Map<string, string>(),
      );
      if (leaving.signal.aborted) return;
      types.value = new Map([
        ...types.peek(),
        ...[...wanted].map((id) => [id, found.get(id) ?? null] as const),
      ]);
    };
    const pauseMs = Math.max(0, readAtMs.current + PAUSE_MS - performance.now());
    const timer = setTimeout(() => void read(), readAtMs.current === 0 ? 0 : pauseMs);
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
  }, [client, session, isComplete, types.value]);
  return types.value;
}
