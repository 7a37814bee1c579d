/** What the tests of output are written with: a writer that begins, appends, and pages that are read. */
import type { OutputChange, OutputConflict, OutputHead } from '../../server/ports/output.ts';
import type { Batch, CommitResult, Store } from '../../server/ports/store.ts';
import { readState, writeTask } from './store-under-test.ts';

/** The batch of a change of a task's output, beside a write of its state that changes nothing. */
export async function outputBatch(
  store: Store,
  request_id: string,
  change: Omit<OutputChange, 'request_id'>,
): Promise<Batch> {
  const before = await readState(store, request_id);
  return writeTask(request_id, before, before.value, { output: { request_id, ...change } });
}

/** Commits such a batch. */
export async function changeOutput(
  store: Store,
  request_id: string,
  change: Omit<OutputChange, 'request_id'>,
): Promise<CommitResult> {
  return await store.commit(await outputBatch(store, request_id, change));
}

/** A writer begins, with its first pieces, which are added behind a reset where there are others. */
export async function begin(
  store: Store,
  request_id: string,
  writer: string,
  pieces: readonly string[] = [],
): Promise<OutputHead> {
  const append = pieces.length > 0 ? { append: { pieces, by: { writer, from: 0 } } } : {};
  const result = await changeOutput(store, request_id, {
    begins: { writer, reset: '{"reset":true}' },
    ...append,
  });
  if (!result.ok || !result.output) throw new Error(`the writer did not begin: ${JSON.stringify(result)}`);
  return result.output;
}

/** Appends pieces of a writer that has sent this many before. */
export function append(
  store: Store,
  request_id: string,
  writer: string,
  from: number,
  pieces: readonly string[],
): Promise<({ readonly ok: true } & OutputHead) | OutputConflict> {
  return store.appendOutput({ request_id, pieces, by: { writer, from } });
}

/** The JSON text of a piece. */
export function textOf(text: string): string {
  return JSON.stringify({ text });
}

/** All pieces behind a number, page by page, as `n:json`. */
export async function readPieces(store: Store, request_id: string, after = 0): Promise<readonly string[]> {
  const found: string[] = [];
  for (let last = after; ; ) {
    const { pieces } = await store.readOutput(request_id, last, 1_000);
    if (pieces.length === 0) return found;
    for (const { n, json } of pieces) found.push(`${n}:${json}`);
    last = pieces.at(-1)?.n ?? last;
  }
}

/** Counts the yields of a watcher until it is stopped. */
export function countYields(store: Store, topic: Parameters<Store['watch']>[0]) {
  const ending = new AbortController();
  let count = 0;
  const loop = (async () => {
    for await (const _ of store.watch(topic, ending.signal)) count += 1;
  })();
  return {
    count: () => count,
    stop() {
      ending.abort();
      return loop;
    },
  };
}
