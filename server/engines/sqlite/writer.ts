/**
 * Writes groups of calls, one group at a time: in this thread for `memory:`, or in a thread of its own for a
 * file, so that a stuck disk blocks nothing else.
 *
 * Shared memory has the counts of sent and of written groups. Each thread sleeps until the other's count
 * changes, which costs half as much as a message. Only a reply that says more than "all made" is a message. A
 * woken thread always looks at the count, because a late wake may be about an earlier group.
 */
import type { DatabaseSync } from 'node:sqlite';
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads';
import { type OutageKind, StoreUnavailable } from '../../ports/store.ts';
import { type GroupReply, openDecider } from './decider.ts';

export type Writer = {
  /** The earliest due time; `Infinity` if nothing will be due. */
  earliestMs(): number;
  /** Resolves when the group is durable. Rejects if it was not written, or if that is unknown. */
  apply(words: readonly unknown[]): Promise<GroupReply>;
  close(): Promise<void>;
};

export type WriteFailure = { readonly failed: string; readonly kind: OutageKind };
export type WriterData = {
  readonly path: string;
  readonly requests: MessagePort;
  readonly counts: Int32Array<SharedArrayBuffer>;
  /** Item 0 is the earliest due time. */
  readonly earliest: Float64Array<SharedArrayBuffer>;
};
/**
 * The items of `counts`: how many requests were sent, how many groups were written, and whether the last has
 * a reply.
 */
export const SENT = 0;
export const WRITTEN = 1;
export const REPLIES = 2;

const THREAD = new URL(
  import.meta.url.endsWith('.ts') ? './writer-thread.ts' : './writer-thread.js',
  import.meta.url,
);

export function writeHere(sqlite: DatabaseSync): Writer {
  const { earliestMs, apply } = openDecider(sqlite);
  return { earliestMs, apply: async (words) => apply(words), close: async () => undefined };
}

/** Starts the thread. Resolves when the file is open, or rejects with the reason why it can't be opened. */
export async function startWriter(path: string, counts = createCounts()): Promise<Writer> {
  const earliest = new Float64Array(new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT));
  const { port1: requests, port2 } = new MessageChannel();
  const workerData: WriterData = { path, requests: port2, counts, earliest };
  const worker = new Worker(THREAD, { workerData, transferList: [port2], execArgv: [] });
  const exited = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  let exitError: Error | null = null;
  let pending: PromiseWithResolvers<GroupReply> | null = null;

  function failFromNowOn(error: Error): void {
    exitError ??= error;
    opened.reject(exitError);
    pending?.reject(exitError);
    pending = null;
  }
  worker.on('message', (message: 'open' | WriteFailure) => {
    if (message === 'open') opened.resolve();
    else opened.reject(new StoreUnavailable(message.failed, { kind: message.kind }));
  });
  worker.on('error', (error) => failFromNowOn(error instanceof Error ? error : new Error(String(error))));
  worker.on('exit', () => {
    failFromNowOn(new Error('the writer thread has exited'));
    requests.close();
    // Nothing is pending any more. The wake ends a wait that would otherwise last for ever.
    Atomics.notify(counts, WRITTEN);
    exited.resolve();
  });

  function send(request: readonly unknown[] | 'close'): void {
    requests.postMessage(request);
    Atomics.add(counts, SENT, 1);
    Atomics.notify(counts, SENT);
  }

  /** Settles the group once the thread has written more groups than `before`. */
  function settleWhenWritten(before: number, group: PromiseWithResolvers<GroupReply>): void {
    if (pending !== group) return;
    const change = Atomics.waitAsync(counts, WRITTEN, before);
    if (change.async) {
      void change.value.then(() => settleWhenWritten(before, group));
      return;
    }
    pending = null;
    if (Atomics.load(counts, REPLIES) === 0) group.resolve(0);
    else settle(group, receiveMessageOnPort(requests)?.message as GroupReply | WriteFailure);
  }

  try {
    await opened.promise;
    return {
      earliestMs: () => earliest[0] ?? Number.POSITIVE_INFINITY,
      apply(words) {
        if (exitError) return Promise.reject(exitError);
        const group = Promise.withResolvers<GroupReply>();
        pending = group;
        const before = Atomics.load(counts, WRITTEN);
        send(words);
        settleWhenWritten(before, group);
        return group.promise;
      },
      async close() {
        // A thread in the middle of a write reads no other request. Terminating it ends its transaction.
        if (pending) await worker.terminate();
        else if (!exitError) send('close');
        await exited.promise;
      },
    };
  } catch (error) {
    await worker.terminate();
    throw error;
  }
}

export function createCounts(): WriterData['counts'] {
  return new Int32Array(new SharedArrayBuffer(3 * Int32Array.BYTES_PER_ELEMENT));
}

function settle(group: PromiseWithResolvers<GroupReply>, reply: GroupReply | WriteFailure): void {
  if (reply !== 0 && 'failed' in reply)
    group.reject(new StoreUnavailable(reply.failed, { kind: reply.kind }));
  else group.resolve(reply);
}
