/**
 * The main thread's side of the writer thread: sends it one group at a time and waits until it is written.
 * Both threads count in shared memory how much was sent and how much was written, and each sleeps until the
 * other's count changes; that costs half of what an answer as a message would. Only failures are messages.
 *
 * The counts decide, never a wake alone: the wake for one group may come when its sleeper has long seen the
 * count, and sleeps for the next.
 */
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import { type OutageKind, StoreUnavailable } from '../../../ports/store.ts';
import type { Writer } from '../storage/keyv-adapter.ts';

/** The writes, each key followed by its value, and the removals: flat lists are copied faster. */
export type WriterGroup = { readonly sets: readonly string[]; readonly deletes: readonly string[] };
export type WriterRequest = WriterGroup | 'close';
/** The thread's message: that the file is open, or why it, or a group, could not be opened or written. */
export type WriterMessage =
  | { readonly ok: true }
  | { readonly ok: false; readonly kind: OutageKind; readonly reason: string };
/** The thread is started with these. */
export type WriterData = {
  readonly path: string;
  readonly requests: MessagePort;
  /**
   * At `SENT` how many requests were sent, at `WRITTEN` how many groups were written, at `SHORT_LOG` whether
   * the log is kept short.
   */
  readonly counts: Int32Array<SharedArrayBuffer>;
};
export const SENT = 0;
export const WRITTEN = 1;
export const SHORT_LOG = 2;

const THREAD = new URL(
  import.meta.url.endsWith('.ts') ? './writer-thread.ts' : './writer-thread.js',
  import.meta.url,
);

/** The counts of a thread that is started next. */
export function createCounts(): WriterData['counts'] {
  return new Int32Array(new SharedArrayBuffer(3 * Int32Array.BYTES_PER_ELEMENT));
}

/**
 * Starts the thread on a database file; resolves when the file is open, rejects with why it can't be opened.
 */
export async function startWriter(path: string, counts = createCounts()): Promise<Writer> {
  const { port1: requests, port2 } = new MessageChannel();
  const workerData: WriterData = { path, counts, requests: port2 };
  const worker = new Worker(THREAD, { workerData, transferList: [port2], execArgv: [] });
  const exited = Promise.withResolvers<void>();
  let pending: PromiseWithResolvers<void> | null = null;
  let exitError: Error | null = null;

  function awaitReply(): PromiseWithResolvers<void> {
    const reply = Promise.withResolvers<void>();
    if (exitError) reply.reject(exitError);
    else pending = reply;
    return reply;
  }

  function takePending(): PromiseWithResolvers<void> | null {
    const taken = pending;
    pending = null;
    return taken;
  }

  function rejectFromNowOn(error: Error): void {
    exitError ??= error;
    takePending()?.reject(exitError);
  }

  function send(request: WriterRequest): void {
    requests.postMessage(request);
    Atomics.add(counts, SENT, 1);
    Atomics.notify(counts, SENT);
  }

  /** Resolves a group's reply once the thread has written more groups than this many. */
  function resolveWhenWritten(before: number, reply: PromiseWithResolvers<void>): void {
    if (pending !== reply) return;
    const change = Atomics.waitAsync(counts, WRITTEN, before);
    if (change.async) void change.value.then(() => resolveWhenWritten(before, reply));
    else takePending()?.resolve();
  }

  worker.on('message', (message: WriterMessage) => {
    if (message.ok) takePending()?.resolve();
    else takePending()?.reject(new StoreUnavailable(message.reason, { kind: message.kind }));
  });
  worker.on('error', (error) => rejectFromNowOn(error instanceof Error ? error : new Error(String(error))));
  worker.on('exit', () => {
    rejectFromNowOn(new Error('the writer thread has exited'));
    requests.close();
    // Nothing is pending any more; this ends a wait that would last for ever.
    Atomics.notify(counts, WRITTEN);
    exited.resolve();
  });

  const writer: Writer = {
    apply(sets, deletes) {
      const reply = awaitReply();
      if (exitError) return reply.promise;
      const before = Atomics.load(counts, WRITTEN);
      send(listGroup(sets, deletes));
      resolveWhenWritten(before, reply);
      return reply.promise;
    },
    keepLogShort: (isShort) => void Atomics.store(counts, SHORT_LOG, Number(isShort)),
    async close() {
      // A thread in the middle of a write would not read another request; its exit ends its transaction.
      if (pending) await worker.terminate();
      else if (!exitError) send('close');
      await exited.promise;
    },
  };
  try {
    await awaitReply().promise;
    return writer;
  } catch (error) {
    await worker.terminate();
    throw error;
  }
}

function listGroup(sets: ReadonlyMap<string, string>, deletes: ReadonlySet<string>): WriterGroup {
  const list: string[] = [];
  for (const [key, value] of sets) list.push(key, value);
  return { sets: list, deletes: [...deletes] };
}
