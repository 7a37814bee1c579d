/** The main thread's end of the writer thread: hands it one group at a time and waits for its word. */
import { Worker } from 'node:worker_threads';
import type { Writer } from './keyv-adapter.ts';

export type ToWriter =
  | { readonly sets: ReadonlyMap<string, string>; readonly deletes: ReadonlySet<string> }
  | 'close';
/** The answer to each group, and first of all to the opening of the file. */
export type FromWriter = { readonly ok: true } | { readonly ok: false; readonly reason: string };

const THREAD = new URL(
  import.meta.url.endsWith('.ts') ? './writer-thread.ts' : './writer-thread.js',
  import.meta.url,
);

/** Starts the thread on a database file; resolves when the file is open, rejects with why it can't be. */
export async function startWriter(path: string): Promise<Writer> {
  const worker = new Worker(THREAD, { workerData: path, execArgv: [] });
  const gone = Promise.withResolvers<void>();
  let pending: PromiseWithResolvers<void> | null = null;
  let end: Error | null = null;

  function awaitAnswer(): Promise<void> {
    if (end) return Promise.reject(end);
    pending = Promise.withResolvers();
    return pending.promise;
  }

  function take(): PromiseWithResolvers<void> | null {
    const asked = pending;
    pending = null;
    return asked;
  }

  function finish(error: Error): void {
    end ??= error;
    take()?.reject(end);
  }

  worker.on('message', (message: FromWriter) => {
    if (message.ok) take()?.resolve();
    else take()?.reject(new Error(message.reason));
  });
  worker.on('error', (error) => finish(error instanceof Error ? error : new Error(String(error))));
  worker.on('exit', () => {
    finish(new Error('the writer thread has ended'));
    gone.resolve();
  });

  const writing: Writer = {
    apply(sets, deletes) {
      const answered = awaitAnswer();
      if (!end) worker.postMessage({ sets, deletes } satisfies ToWriter);
      return answered;
    },
    async close() {
      // A thread in the middle of a write is stuck or will be told nothing more; its exit ends its transaction.
      if (pending) await worker.terminate();
      else if (!end) worker.postMessage('close' satisfies ToWriter);
      await gone.promise;
    },
  };
  try {
    await awaitAnswer();
    return writing;
  } catch (error) {
    await worker.terminate();
    throw error;
  }
}
