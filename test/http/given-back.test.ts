/**
 * Memory and slots that a caller held are given back, however its call ends: refused, failed, served, or left
 * by its caller. Each pool has room for one, so the next caller shows what was kept.
 */
import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { HTTP_LIMITS } from '../../server/http/http.ts';
import { createBodyCollector } from '../../server/http/request/body-collector.ts';
import { createResponseWriter, type ResponseWriter } from '../../server/http/response/response-writer.ts';
import { createUnreadBytes } from '../../server/http/response/unread-bytes.ts';
import { createAdmission } from '../../server/http/stream/admission.ts';
import { GatewayError } from '../../server/ports/gateway.ts';
import { buildCall } from '../contract/usual-calls.ts';
import { createFakeClock } from '../harness/fake-clock.ts';
import { measureHeap } from '../harness/heap.ts';
import { ADMIN_SECRET, SECRET, startTestServer } from '../harness/http-server.ts';
import { sendChecked } from './checked-call.ts';
import { createFakeGateway, TASK } from './fake-gateway.ts';
import { openConnection } from './raw-connection.ts';

describe('the memory of a large body', () => {
  const LARGE = 70_000;
  const submit = buildCall('submitTask', { gateway: SECRET, admin: ADMIN_SECRET });
  const build = (task_type: string, more = ''): string =>
    `${String(submit.body).replace(/"task_type":"[^"]*"/, `"task_type":"${task_type}"`)}${' '.repeat(LARGE)}${more}`;

  /** A server with memory for one large body at a time, whose clock stands still: no body gives way. */
  const startTight = () =>
    startTestServer(
      createFakeGateway({
        async submitTask({ task_type }) {
          if (task_type === 'fails') throw new GatewayError('busy', 'Too many tasks are open.');
          return task_type === 'long' ? { ...TASK, payload: { text: 'x'.repeat(40_000) } } : TASK;
        },
      }),
      { clock: createFakeClock(), limits: { largeBodiesBytesMax: 4 * LARGE } },
    );

  test.each([
    ['that is served', build('t'), 200],
    ['whose response is long', build('long'), 200],
    ['that is not JSON', build('t', '}'), 400],
    ['that is refused', build(''), 422],
    ['whose handler fails', build('fails'), 503],
  ])('%s is given back', async (_which, body, status) => {
    const tight = await startTight();
    for (const _ of [1, 2, 3]) {
      const response = await sendChecked(tight.url, { ...submit, body });
      expect([response.status, response.json.detail ?? '']).toEqual([
        status,
        expect.not.stringContaining('large bodies'),
      ]);
    }
    expect((await sendChecked(tight.url, { ...submit, body: build('t') })).status).toBe(200);
    await tight.stop();
  });

  test('whose caller leaves before its end is given back', async () => {
    const tight = await startTight();
    const status = async (): Promise<number> =>
      (await sendChecked(tight.url, { ...submit, body: build('t') })).status;
    const leaving = await openConnection(tight.port);
    leaving.write(`POST /api/cli/tasks HTTP/1.1\r\nHost: a\r\nContent-Length: 900000\r\n\r\n${build('t')}`);
    await expect.poll(status).toBe(503);
    leaving.close();
    await expect.poll(status).toBe(200);
    await tight.stop();
  });
});

test('The memory that a body held as a small one is given back when it becomes large.', async () => {
  const collect = createBodyCollector({
    limits: { ...HTTP_LIMITS, smallBodiesBytesMax: 3 * 60_000 },
    clock: createFakeClock(),
  });
  for (const _ of [1, 2, 3]) {
    const parts = Readable.from([Buffer.alloc(60_000), Buffer.alloc(20_000)]);
    const request = Object.assign(parts, { headers: {}, socket: {} }) as unknown as IncomingMessage;
    const { bytes, isLarge, release } = await collect(request, null);
    expect([bytes.length, isLarge]).toEqual([80_000, true]);
    release();
  }
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

describe('bytes that a reader has not taken', () => {
  const LONG = Buffer.alloc(20_000);

  function start(): {
    readonly response: EventEmitter;
    readonly writer: ResponseWriter;
    heldBytes(): number;
  } {
    const taken: (() => void)[] = [];
    const response = Object.assign(new EventEmitter(), {
      req: {},
      socket: null,
      write(_bytes: Buffer, onTaken?: () => void) {
        if (onTaken) taken.push(onTaken);
        return true;
      },
      take: () => taken.shift()?.(),
    });
    const unread = createUnreadBytes(1_000_000, () => undefined);
    const writer = createResponseWriter(response as unknown as ServerResponse, { unread });
    return { response, writer, heldBytes: unread.heldBytes };
  }

  test('are not counted once it has taken them', async () => {
    const { response, writer, heldBytes } = start();
    const written = writer.write(LONG);
    expect(heldBytes()).toBe(LONG.length);
    (response as unknown as { take(): void }).take();
    await written;
    expect(heldBytes()).toBe(0);
  });

  test('are not counted once it has disconnected', async () => {
    const { response, writer, heldBytes } = start();
    const written = writer.write(LONG);
    expect(heldBytes()).toBe(LONG.length);
    response.emit('close');
    expect(heldBytes()).toBe(0);
    await written;
  });
});
