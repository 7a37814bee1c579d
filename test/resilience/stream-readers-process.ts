/**
 * Many readers of event streams in a process of their own, so that their cost is not counted as the
 * gateway's. Bare sockets; each keeps the ids of the events it received. Each message is a command and gets
 * one reply.
 */
import { connect, type Socket } from 'node:net';

export type ReadersCommand =
  /** Opens streams of these sessions, this many at a time; replies when all have begun. */
  | {
      readonly op: 'open';
      readonly port: number;
      readonly auth: string;
      readonly sessions: readonly string[];
    }
  /** Replies when every reader has had this many events in all. */
  | { readonly op: 'await'; readonly events: number }
  /** Replies with how many readers of the session have not had exactly these events, in this order. */
  | { readonly op: 'compare'; readonly session: string; readonly request_ids: readonly string[] }
  /** Closes all. */
  | { readonly op: 'leave' };

export type ReadersReply =
  | { readonly ok: true; readonly wrong: number; readonly firstMs: number; readonly lastMs: number }
  | { readonly ok: false; readonly reason: string };

type Reader = { readonly socket: Socket; readonly session: string; readonly got: string[]; rest: string };

const OPENING_AT_ONCE = 100;
const readers: Reader[] = [];
/** How many readers have had this many events, so that waiting need not look at each of them. */
const reached = new Map<number, { count: number; firstMs: number; lastMs: number }>();
let closed = 0;
let wake = (): void => {};

function nowMs(): number {
  return performance.timeOrigin + performance.now();
}

function note(reader: Reader, request_id: string): void {
  reader.got.push(request_id);
  const atMs = nowMs();
  const step = reached.get(reader.got.length) ?? { count: 0, firstMs: atMs, lastMs: atMs };
  reached.set(reader.got.length, step);
  step.count += 1;
  step.lastMs = atMs;
  if (step.count === readers.length) wake();
}

function take(reader: Reader, text: string): void {
  const whole = reader.rest + text;
  const end = whole.lastIndexOf('\n\n');
  if (end === -1) {
    reader.rest = whole;
    return;
  }
  reader.rest = whole.slice(end + 2);
  for (const [, request_id] of whole.slice(0, end).matchAll(/^data: .*?"request_id":"([^"]*)"/gm)) {
    if (request_id !== undefined) note(reader, request_id);
  }
}

function openOne(port: number, auth: string, session: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    const reader: Reader = { socket, session, got: [], rest: '' };
    readers.push(reader);
    let begun = false;
    socket.setEncoding('utf8').on('data', (text: unknown) => {
      take(reader, String(text));
      if (begun) return;
      begun = true;
      if (/^HTTP\/1\.1 200 /.test(String(text))) resolve();
      else reject(new Error(`a stream began with ${String(text).slice(0, 200)}`));
    });
    socket.on('error', reject);
    socket.on('close', () => {
      closed += 1;
      reject(new Error('a stream was closed'));
      wake();
    });
    const path = `/api/cli/events?cli_session_id=${encodeURIComponent(session)}&auth=${encodeURIComponent(auth)}`;
    socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
  });
}

async function openAll(command: Extract<ReadersCommand, { op: 'open' }>): Promise<void> {
  const left = command.sessions.values();
  const lane = async (): Promise<void> => {
    for (const session of left) await openOne(command.port, command.auth, session);
  };
  await Promise.all(Array.from({ length: OPENING_AT_ONCE }, lane));
}

async function carryOut(command: ReadersCommand): Promise<ReadersReply> {
  const done = { ok: true, wrong: 0, firstMs: 0, lastMs: 0 } as const;
  switch (command.op) {
    case 'open':
      await openAll(command);
      return done;
    case 'await': {
      while ((reached.get(command.events)?.count ?? 0) < readers.length) {
        if (closed > 0) return { ok: false, reason: `${closed} streams were closed` };
        await new Promise<void>((resolve) => (wake = resolve));
      }
      const { firstMs = 0, lastMs = 0 } = reached.get(command.events) ?? {};
      return { ...done, firstMs, lastMs };
    }
    case 'compare': {
      const right = command.request_ids.join();
      const mine = readers.filter(({ session }) => session === command.session);
      return { ...done, wrong: mine.filter(({ got }) => got.join() !== right).length };
    }
    case 'leave':
      for (const { socket } of readers) socket.destroy();
      return done;
  }
}

process.on('message', async (command: ReadersCommand) => {
  const reply = await carryOut(command).catch(
    (error: unknown): ReadersReply => ({ ok: false, reason: String(error) }),
  );
  process.send?.(reply);
});
process.on('disconnect', () => process.exit());
