/**
 * Memory and slots that a call holds are given back, whatever its operation is and however it ends. Each pool
 * has room for one call, so the next one shows what was kept.
 */
import { describe, expect, test } from 'vitest';
import { createAdmission } from '../../server/http/stream/admission.ts';
import { type Gateway, GatewayError } from '../../server/ports/gateway.ts';
import { StoreUnavailable } from '../../server/ports/store-failures.ts';
import { buildCall, type Call, OPERATIONS, type OperationId } from '../contract/usual-calls.ts';
import { createFakeClock } from '../harness/fake-clock.ts';
import { measureHeap } from '../harness/heap.ts';
import { ADMIN_SECRET, SECRET, startTestServer, type TestServer } from '../harness/http-server.ts';
import { createFakeGateway } from './fake-gateway.ts';
import { openConnection } from './raw-connection.ts';

/** A body of this is a large one. */
const LARGE = 70_000;
/** Room for one large body, for the output of one write, and for one stream. */
const LIMITS = { bodiesBytesMax: 1.3 * LARGE, outputWritingBytesMax: 20, streamsMax: 1 };

/** What a handler does before its usual response. */
type Before = () => Promise<void>;

const fail = (error: Error): Before => {
  return () => Promise.reject(error);
};
/** By how the calls end: what the handler does, and the status; null where their callers leave. */
const ENDINGS: Readonly<Record<string, readonly [Before, number | null]>> = {
  'are refused': [fail(new GatewayError('task_not_found', 'No task has this request_id.')), 404],
  'find no room': [fail(new GatewayError('busy', 'Too many tasks are open.')), 503],
  fail: [fail(new Error('planned')), 500],
  'meet an outage': [fail(new StoreUnavailable('planned')), 503],
  'are served': [async () => undefined, 200],
  'lose their callers, and are served': [() => left.promise, null],
  'lose their callers, and fail': [() => left.promise.then(fail(new Error('planned'))), null],
};

/** The name of the handler that an operation calls. */
const handlerOf = (operation: OperationId): keyof Gateway =>
  operation === 'readOutput' ? 'followOutput' : operation;

/** The usual call, whose body fills the pool of large ones; that of `writeOutput` may not be so large. */
function buildLarge(operation: OperationId): Call {
  const call = buildCall(operation, { gateway: SECRET, admin: ADMIN_SECRET });
  const accept = operation === 'readOutput' ? { accept: 'text/event-stream' } : {};
  const padding = ' '.repeat(operation === 'writeOutput' ? 0 : LARGE);
  return {
    ...call,
    headers: { ...call.headers, ...accept },
    ...(typeof call.body === 'string' && { body: call.body + padding }),
  };
}

/** Sends a call and leaves once its status is there. */
async function statusOf(url: string, { method, path, headers = {}, body }: Call): Promise<number> {
  const leaving = new AbortController();
  const request = { method, headers, signal: leaving.signal, ...(body !== undefined && { body }) };
  const { status } = await fetch(url + path, request);
  leaving.abort();
  return status;
}

/** Sends a call whose caller leaves while its handler works. */
async function leaveDuring(port: number, { method, path, headers, body = '' }: Call): Promise<void> {
  const connection = await openConnection(port);
  const length = String(Buffer.byteLength(body));
  const lines = Object.entries({ ...headers, host: 'localhost', 'content-length': length });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  connection.write(`${method} ${path} HTTP/1.1\r\n${head}\r\n${body}`);
  await entered.promise;
  connection.close();
  left.resolve();
}

/** Resolved when a handler begins to work, and when its caller has left. */
let entered = Promise.withResolvers<void>();
let left = Promise.withResolvers<void>();

describe.each(OPERATIONS)('calls of %s', (operation) => {
  const call = buildLarge(operation);
  let prelude: Before = async () => undefined;

  /** A server whose clock stands still: no body gives way to another. */
  function start(): Promise<TestServer> {
    const usual = createFakeGateway();
    const handler = handlerOf(operation);
    const work = usual[handler] as (...args: unknown[]) => unknown;
    const isStream = operation === 'subscribeEvents';
    async function* streamed(...args: unknown[]) {
      entered.resolve();
      await prelude();
      yield* work(...args) as AsyncIterable<Buffer>;
    }
    const replaced = isStream
      ? streamed
      : async (...args: unknown[]) => {
          entered.resolve();
          await prelude();
          return await work(...args);
        };
    const clock = createFakeClock();
    return startTestServer({ ...usual, [handler]: replaced } as Gateway, { clock, limits: LIMITS });
  }

  test.each(Object.entries(ENDINGS))('that %s hold nothing any more', async (_how, [ending, status]) => {
    const server = await start();
    for (const _ of [1, 2, 3]) {
      [entered, left] = [Promise.withResolvers(), Promise.withResolvers()];
      prelude = ending;
      if (status === null) await leaveDuring(server.port, call);
      else if (operation === 'subscribeEvents') await statusOf(server.url, call);
      else expect([status, 204]).toContain(await statusOf(server.url, call));
    }
    prelude = async () => undefined;
    await expect.poll(() => statusOf(server.url, call)).toBeLessThan(300);
    await server.stop(0);
  });
});

test('A large body that is no JSON holds nothing any more.', async () => {
  const server = await startTestServer(createFakeGateway(), { clock: createFakeClock(), limits: LIMITS });
  const call = buildLarge('submitTask');
  const broken = { ...call, body: `${call.body}}` };
  for (const _ of [1, 2, 3]) expect(await statusOf(server.url, broken)).toBe(400);
  expect(await statusOf(server.url, call)).toBe(200);
  await server.stop();
});

describe('the slot of a stream', () => {
  const stream = (id: string) => ({ of: { kind: 'session', id } as const });

  test.each([
    ['of all', { streamsMax: 1, streamsOfOneMax: 9 }],
    ['of its session', { streamsMax: 9, streamsOfOneMax: 1 }],
  ])('%s is free again when it ends, and once only', (_which, limits) => {
    const admission = createAdmission(limits);
    for (const _ of [1, 2, 3]) {
      const one = stream('s');
      admission.admit(one);
      expect(() => admission.admit(stream('s'))).toThrow(/open/);
      admission.release(one);
      admission.release(one);
    }
    admission.admit(stream('s'));
    expect(() => admission.admit(stream('s'))).toThrow(/open/);
  });
});

test('A session whose streams have ended leaves nothing behind.', () => {
  const sessions = 200_000;
  const { admit, release } = createAdmission({ streamsMax: 9, streamsOfOneMax: 1 });
  const open = (name: string): void => {
    for (let n = 0; n < sessions; n += 1) {
      const one = { of: { kind: 'session', id: `${name} ${n}` } as const };
      admit(one);
      release(one);
    }
  };
  open('first');
  const before = measureHeap();
  open('next');
  expect((measureHeap() - before) / sessions, 'bytes a session').toBeLessThan(5);
});
