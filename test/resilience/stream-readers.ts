/** Many stream readers in a process of their own, driven by one command at a time. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { ReadersCommand, ReadersReply } from './stream-readers-process.ts';

export type StreamReaders = {
  /** Opens one stream for each of these sessions; rejects if one is refused. */
  open(sessions: readonly string[]): Promise<void>;
  /**
   * When every reader has had this many events in all: when the first and the last of them had (ms of the
   * epoch).
   */
  awaitEvents(events: number): Promise<{ readonly firstMs: number; readonly lastMs: number }>;
  /** How many readers of a session have not had exactly these events in this order. */
  countWrong(session: string, request_ids: readonly string[]): Promise<number>;
  /** Closes all streams and ends the process. */
  leave(): Promise<void>;
};

/** Starts the process; it has no streams yet. */
export function startStreamReaders(baseUrl: string, auth: string): StreamReaders {
  const child = fork(join(import.meta.dirname, 'stream-readers-process.ts'), { execArgv: [] });
  const port = Number(new URL(baseUrl).port);

  async function send(command: ReadersCommand): Promise<Extract<ReadersReply, { ok: true }>> {
    child.send(command);
    const [reply] = (await once(child, 'message')) as [ReadersReply];
    if (!reply.ok) throw new Error(`The stream readers could not ${command.op}: ${reply.reason}`);
    return reply;
  }

  return {
    open: async (sessions) => void (await send({ op: 'open', port, auth, sessions })),
    awaitEvents: (events) => send({ op: 'await', events }),
    countWrong: async (session, request_ids) => (await send({ op: 'compare', session, request_ids })).wrong,
    async leave() {
      await send({ op: 'leave' });
      const ended = once(child, 'exit');
      child.disconnect();
      await ended;
    },
  };
}
