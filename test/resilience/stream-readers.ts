/** A crowd of stream readers, in a process of its own: opened, waited for, compared, ended. One order at a time. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { CrowdAnswer, CrowdOrder } from './stream-readers-process.ts';

export type Crowd = {
  /** Opens one stream for each of these sessions; rejects if one is refused. */
  open(sessions: readonly string[]): Promise<void>;
  /** When every reader has had so many events in all: when the first and the last of them had (ms of the epoch). */
  awaitEvents(events: number): Promise<{ readonly firstMs: number; readonly lastMs: number }>;
  /** How many readers of a session have not had exactly these events in this order. */
  countWrong(session: string, request_ids: readonly string[]): Promise<number>;
  /** Closes all streams and ends the process. */
  leave(): Promise<void>;
};

/** Starts the process; it has no streams yet. */
export function startCrowd(baseUrl: string, auth: string): Crowd {
  const child = fork(join(import.meta.dirname, 'stream-readers-process.ts'), { execArgv: [] });
  const port = Number(new URL(baseUrl).port);

  async function tell(order: CrowdOrder): Promise<Extract<CrowdAnswer, { ok: true }>> {
    child.send(order);
    const [answer] = (await once(child, 'message')) as [CrowdAnswer];
    if (!answer.ok) throw new Error(`The crowd could not ${order.op}: ${answer.reason}`);
    return answer;
  }

  return {
    open: async (sessions) => void (await tell({ op: 'open', port, auth, sessions })),
    awaitEvents: (events) => tell({ op: 'await', events }),
    countWrong: async (session, request_ids) => (await tell({ op: 'compare', session, request_ids })).wrong,
    async leave() {
      await tell({ op: 'leave' });
      const ended = once(child, 'exit');
      child.disconnect();
      await ended;
    },
  };
}
