/**
 * Many readers of event streams in a process of their own, so that what they cost is not counted as the gateway's.
 * Bare sockets; each keeps the ids of the events it got. Told by messages what to do; answers each with one.
 */
import { connect, type Socket } from 'node:net';

export type CrowdOrder =
  /** Opens streams of these sessions, so many at a time; answers when all have begun. */
  | {
      readonly op: 'open';
      readonly port: number;
      readonly auth: string;
      readonly sessions: readonly string[];
    }
  /** Answers when every reader has had so many events in all. */
  | { readonly op: 'await'; readonly events: number }
  /** Answers with how many readers of the session have not had exactly these events, in this order. */
  | { readonly op: 'compare'; readonly session: string; readonly request_ids: readonly string[] }
  /** Closes all. */
  | { readonly op: 'leave' };

export type CrowdAnswer =
  | { readonly ok: true; readonly wrong: number; readonly firstMs: number; readonly lastMs: number }
  | { readonly ok: false; readonly reason: string };

type Reader = { readonly socket: Socket; readonly session: string; readonly got: string[]; rest: string };

const OPENING_AT_ONCE = 100;
const readers: Reader[] = [];
/** Readers by how many events they have had, so that waiting looks at none of them. */
const reached = new Map<number, { count: number; firstMs: number; lastMs: number }>();
let closed = 0;
let wake = (): void => {};

function nowMs(): number {
  return performance.timeOrigin + performance.now();
}

function note(reader: Reader, request_id: string): void {
  reader.got.push(request_id);
  const atMs = nowMs();
  const place = reached.get(reader.got.length) ?? { count: 0, firstMs: atMs, lastMs: atMs };
  reached.set(reader.got.length, place);
  place.count += 1;
  place.lastMs = atMs;
  if (place.count === readers.length) wake();
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
      else reject(new Error(`a stream was answered ${String(text).slice(0, 200)}`));
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

async function openAll(order: Extract<CrowdOrder, { op: 'open' }>): Promise<void> {
  const left = order.sessions.values();
  const lane = async (): Promise<void> => {
    for (const session of left) await openOne(order.port, order.auth, session);
  };
  await Promise.all(Array.from({ length: OPENING_AT_ONCE }, lane));
}

async function carryOut(order: CrowdOrder): Promise<CrowdAnswer> {
  const done = { ok: true, wrong: 0, firstMs: 0, lastMs: 0 } as const;
  switch (order.op) {
    case 'open':
      await openAll(order);
      return done;
    case 'await': {
      while ((reached.get(order.events)?.count ?? 0) < readers.length) {
        if (closed > 0) return { ok: false, reason: `${closed} streams were closed` };
        await new Promise<void>((resolve) => (wake = resolve));
      }
      const { firstMs = 0, lastMs = 0 } = reached.get(order.events) ?? {};
      return { ...done, firstMs, lastMs };
    }
    case 'compare': {
      const right = order.request_ids.join();
      const mine = readers.filter(({ session }) => session === order.session);
      return { ...done, wrong: mine.filter(({ got }) => got.join() !== right).length };
    }
    case 'leave':
      for (const { socket } of readers) socket.destroy();
      return done;
  }
}

process.on('message', async (order: CrowdOrder) => {
  const answer = await carryOut(order).catch(
    (error: unknown): CrowdAnswer => ({ ok: false, reason: String(error) }),
  );
  process.send?.(answer);
});
process.on('disconnect', () => process.exit());
