/**
 * Memory and slots that a caller held are given back, however its call ends: refused, failed, served, or left
 * by its caller. Each pool has room for one, so the next caller shows what was kept.
 */
import { describe, expect, test } from 'vitest';
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
      { clock: createFakeClock(), limits: { bodiesBytesMax: 1.3 * LARGE } },
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
