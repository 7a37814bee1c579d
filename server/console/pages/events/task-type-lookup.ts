/**
 * Finds the types of the tasks whose events are shown. An event does not name the type, but the rows of the
 * session's tasks do. Rows are read when an unknown type is needed: at most 200 rows a call, three calls in a
 * row, and a read every 2 s. Tasks beyond these rows have no type here.
 */
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { ConsoleClient } from '../../gateway/client.ts';
import { useConsole } from '../../gateway/console.ts';

const ROWS_LIMIT = 200;
const CALLS_MAX = 3;
const PAUSE_MS = 2_000;

/** Reads types by id, until all wanted ones are known or the calls are used up. */
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

/** Returns the known types of these tasks by id; null for a type that was not found. */
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
      // If this fails, events are shown without types, and the next event tries again.
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
