/** The main thread's side of the writer thread: sends it one group at a time and waits for its reply. */
import { Worker } from 'node:worker_threads';
import type { Writer } from './keyv-adapter.ts';

export type WriterRequest =
  | { readonly sets: ReadonlyMap<string, string>; readonly deletes: ReadonlySet<string> }
  | 'close';
/** The reply to each group. The first reply of all is to the opening of the file. */
export type WriterReply = { readonly ok: true } | { readonly ok: false; readonly reason: string };

const THREAD = new URL(
  import.meta.url.endsWith('.ts') ? './writer-thread.ts' : './writer-thread.js',
  import.meta.url,
);

/**
 * Starts the thread on a database file; resolves when the file is open, rejects with why it can't be opened.
 */
export async function startWriter(path: string): Promise<Writer> {
  const worker = new Worker(THREAD, { workerData: path, execArgv: [] });
  const exited = Promise.withResolvers<void>();
  let pending: PromiseWithResolvers<void> | null = null;
  let exitError: Error | null = null;

  function awaitReply(): Promise<void> {
    if (exitError) return Promise.reject(exitError);
    pending = Promise.withResolvers();
    return pending.promise;
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

  worker.on('message', (message: WriterReply) => {
    if (message.ok) takePending()?.resolve();
    else takePending()?.reject(new Error(message.reason));
  });
  worker.on('error', (error) => rejectFromNowOn(error instanceof Error ? error : new Error(String(error))));
  worker.on('exit', () => {
    rejectFromNowOn(new Error('the writer thread has exited'));
    exited.resolve();
  });

  const writer: Writer = {
    apply(sets, deletes) {
      const reply = awaitReply();
      if (!exitError) worker.postMessage({ sets, deletes } satisfies WriterRequest);
      return reply;
    },
    async close() {
      // A thread in the middle of a write would not read another request; its exit ends its transaction.
      if (pending) await worker.terminate();
      else if (!exitError) worker.postMessage('close' satisfies WriterRequest);
      await exited.promise;
    },
  };
  try {
    await awaitReply();
    return writer;
  } catch (error) {
    await worker.terminate();
    throw error;
  }
}
