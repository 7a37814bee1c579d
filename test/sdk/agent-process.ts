/** An agent as a separate process. The payload of a task says whether it blocks the thread or waits. */
import { runAgent } from '../../sdk/agent/index.ts';

await runAgent(
  {
    agentId: 'own-process',
    tags: ['own'],
    maxConcurrent: 2,
    outbox: process.env.OUTBOX,
    async handler({ payload }, { signal }) {
      if (payload.throws === 'beside the handler') {
        signal.addEventListener('abort', () => {
          throw new Error('A listener of the signal throws.');
        });
        signal.addEventListener('abort', async () => {
          throw new Error('A listener of the signal rejects.');
        });
        const derived = AbortSignal.any([signal, AbortSignal.timeout(100_000)]);
        derived.addEventListener('abort', () => {
          throw new Error('A listener of a derived signal throws.');
        });
        derived.addEventListener('abort', async () => {
          throw new Error('A listener of a derived signal rejects.');
        });
        AbortSignal.any([derived]).addEventListener('abort', async () => {
          await new Promise((resolve) => setTimeout(resolve, 50));
          throw new Error('A listener of a derived signal rejects later.');
        });
        const linked = new AbortController();
        signal.addEventListener('abort', () => linked.abort());
        linked.signal.addEventListener('abort', async () => {
          throw new Error('A listener of a linked signal rejects.');
        });
        void Promise.reject(new Error('A promise is left without an end.'));
      }
      if (typeof payload.block_ms === 'number') {
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, payload.block_ms);
        return 'blocked';
      }
      await new Promise((resolve, reject) => {
        const timer = setTimeout(resolve, Number(payload.last_ms));
        signal.addEventListener('abort', () => {
          clearTimeout(timer);
          reject(signal.reason);
        });
      });
      return 'lasted';
    },
    onNotice({ kind }) {
      console.log(kind);
      throw new Error('A listener that fails.');
    },
  },
  { drainMs: 20_000, graceMs: 500 },
);
console.log('end');
