/** What a process keeps in its heap: for tests of what a call leaves behind. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Collects everything that can be. */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
}

/** Bytes that are in use once everything is collected that can be. */
export function measureHeap(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

/** What another process is started with, so that `measureHeapOf` can ask it. */
export const INSPECTED = { NODE_OPTIONS: '--inspect=127.0.0.1:0' };

/**
 * Bytes that the main thread of another process keeps, buffers included, once everything is collected that
 * can be. Its inspector, whose address it has printed, says it: the memory that it holds of the machine
 * swings by more than most leaks.
 */
export async function measureHeapOf({ output }: { output(): string }): Promise<number> {
  const url = /ws:\/\/127\.0\.0\.1:\d+\/\S+/.exec(output())?.[0];
  if (url === undefined) throw new Error('The process has no inspector: start it with INSPECTED.');
  const socket = new WebSocket(url);
  const ask = (method: string): Promise<Record<string, number>> =>
    new Promise((resolve, reject) => {
      socket.onmessage = ({ data }) => resolve(JSON.parse(String(data)).result);
      socket.onclose = () => reject(new Error(`The inspector closed before it answered ${method}.`));
      socket.send(JSON.stringify({ id: 1, method }));
    });
  await new Promise((resolve, reject) => {
    socket.onopen = resolve;
    socket.onerror = () => reject(new Error(`There is no inspector at ${url}.`));
  });
  try {
    await ask('HeapProfiler.collectGarbage');
    const { usedSize = NaN, backingStorageSize = NaN } = await ask('Runtime.getHeapUsage');
    return usedSize + backingStorageSize;
  } finally {
    socket.close();
  }
}
