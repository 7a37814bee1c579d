/** Measures what a process keeps in its heap, for tests of what a call leaves behind. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Collects all garbage. */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
}

/** Returns how many bytes are in use after a collection. */
export function measureHeap(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

/** The environment of another process that `measureHeapOf` can ask. */
export const INSPECTED = { NODE_OPTIONS: '--inspect=127.0.0.1:0' };

/**
 * Returns how many bytes the main thread of another process keeps after a collection, buffers included. It
 * asks the process's inspector, whose address the process has printed. The memory that the machine counts for
 * the process swings by more than most leaks.
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
