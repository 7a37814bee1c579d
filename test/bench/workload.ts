/**
 * A load on a server: which tasks, how many, at which pace. It is run by a process of its own
 * (`workload-process.ts`), so that client and agent take no time from the server but the CPU they share.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/**
 * `inFlight`, a closed loop: this many tasks at once, each followed by the next. `perSecond`, an open loop: a
 * task is submitted when it is due, whether or not earlier ones have ended, and its time counts from when it
 * was due. Only the open loop measures what a client waits; the closed one finds the limit.
 */
export type Load = {
  readonly name: string;
  readonly tasks: number;
  readonly pace: { readonly inFlight: number } | { readonly perSecond: number };
  /** Bytes of a payload; by default a small one. */
  readonly payloadBytes?: number;
};

/** What the process is asked to do. The session must be new. */
export type LoadOrder = { readonly urls: readonly string[]; readonly session: string; readonly load: Load };

/** What it measured: ms from each task's submission to its event, and of all together. */
export type LoadResult = { readonly tookMs: readonly number[]; readonly wallMs: number };

/** What the process says: that the agent is registered and the stream open, then what it measured. */
export type LoadMessage = { readonly ready: true } | { readonly result: LoadResult };

const LOAD_PROCESS = join(import.meta.dirname, 'workload-process.ts');

/** Runs a load; `onStart` and `onEnd` are called right before its first and right after its last task. */
export async function runLoad(
  order: LoadOrder,
  { onStart, onEnd }: { onStart: () => void; onEnd: () => void },
): Promise<LoadResult> {
  const child = fork(LOAD_PROCESS, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  try {
    child.send(order);
    await receive(child);
    onStart();
    child.send('start');
    const message = await receive<LoadMessage>(child);
    onEnd();
    if (!('result' in message)) throw new Error('The process of the load sent its messages out of order.');
    return message.result;
  } finally {
    child.kill('SIGKILL');
  }
}

/** Resolves with the next message of the process; rejects when it ends before. */
export async function receive<T>(child: ChildProcess): Promise<T> {
  const ended = new AbortController();
  const exit = once(child, 'exit', { signal: ended.signal }).then(([code]) => {
    throw new Error(`A process that loads the servers ended with ${code}.`);
  });
  try {
    const message = once(child, 'message', { signal: ended.signal }).then(([first]) => first as T);
    return await Promise.race([message, exit]);
  } finally {
    ended.abort();
    exit.catch(() => undefined);
  }
}
