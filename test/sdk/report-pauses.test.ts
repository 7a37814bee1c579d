/**
 * How an agent goes on with a report, or the output before it, while the gateway does not take it: its
 * pauses, and how it ends in time.
 */
import { expect, test } from 'vitest';
import { createReports } from '../../sdk/agent/reports.ts';
import type { AgentId, RequestId } from '../../sdk/contract.ts';
import { ConnectionError } from '../../sdk/errors.ts';
import { agent, clock, events, gateway, offer, startPulling } from './agent-fixture.ts';
import { json } from './scripted-fetch.ts';
import { problem } from './scripted-server.ts';
import { createSdkClock, elapse, pass } from './sdk-clock.ts';

test('The pauses between reports leave nothing on the signals that could have ended them.', async () => {
  const pauses: (AbortSignal | undefined)[] = [];
  let failuresLeft = 3;
  const reports = createReports({
    agent_id: 'A' as AgentId,
    registerAgain: async () => undefined,
    logEvent: () => undefined,
    clock: { ...createSdkClock(), sleep: async (_ms, signal) => void pauses.push(signal) },
    calls: {
      async reportResult({ request_id, status }) {
        failuresLeft -= 1;
        if (failuresLeft >= 0) throw new ConnectionError('connection_failed', 'down');
        return { ok: true, request_id, status, accepted: true };
      },
    },
  });
  const [end, hurry] = [new AbortController(), new AbortController()];
  const report = { agent_id: 'A' as AgentId, request_id: 't1' as RequestId, status: 'success' } as const;
  expect(await reports.deliver(report, end.signal, hurry.signal)).toBe('delivered');
  for (const one of [hurry, end]) one.abort();
  expect(pauses.map((signal) => signal?.aborted)).toEqual([false, false, false]);
});

/** Lets the gateway respond so to this many reports, and then take them; returns how many it got. */
function respondFirst(times: number, respond: () => Response): () => number {
  gateway.respondToReport = () => (reports() <= times ? respond() : undefined);
  const reports = () => gateway.bodies('result').length;
  return reports;
}

const busy = (seconds: string) => () => json(problem(503, 'busy'), 503, { 'retry-after': seconds });

test('An agent that stops reports a finished result at once, however long a pause the gateway asked for.', async () => {
  await startPulling();
  const reports = respondFirst(1, busy('30'));
  await offer('t1');
  expect(reports()).toBe(1);
  const startMs = clock.nowMs();
  await elapse(clock, agent?.stop({ drainMs: 0, graceMs: 2_000 }) ?? Promise.resolve());
  expect(gateway.outcomes.get('t1')).toMatchObject({ status: 'success' });
  expect(clock.nowMs() - startMs).toBeLessThan(2_500);
});

test('A report at which the gateway fails for ever gives its slot to another task.', async () => {
  await startPulling();
  const reports = respondFirst(Number.POSITIVE_INFINITY, () => json(problem(500, 'internal'), 500));
  await offer('t1');
  const claims = gateway.bodies('claim').length;
  await pass(clock, 60_000);
  expect(gateway.bodies('claim')).toHaveLength(claims);
  await pass(clock, 10 * 60_000);
  expect(reports()).toBe(20);
  expect(events).toContainEqual(
    expect.objectContaining({
      kind: 'dropped',
      request_id: 't1',
      reason: expect.stringContaining('failed 20 times'),
    }),
  );
  expect(gateway.bodies('claim').length).toBeGreaterThan(claims);
});

const never = () => new Promise<Response>(() => undefined);

test.each([
  ['does not respond to', never],
  ['asked for a long pause after', busy('60')],
])(
  'An agent that stops reports a finished result also while the gateway %s its output.',
  async (_what, respond) => {
    await startPulling({
      async handler(_task, { write }) {
        await write('the last words');
        await clock.sleep(500);
        return 'done';
      },
    });
    gateway.respondToWrite = respond;
    await offer('t1');
    await pass(clock, 1_000);
    expect(gateway.bodies('result')).toEqual([]);
    await elapse(clock, agent?.stop({ drainMs: 0 }) ?? Promise.resolve());
    expect(gateway.bodies('output').length).toBeLessThanOrEqual(2);
    expect(gateway.bodies('result')).toEqual([expect.objectContaining({ status: 'success' })]);
  },
);

test('An agent that stops lets a handler go on that waits until its output is taken.', async () => {
  let isOver = false;
  await startPulling({
    async handler(_task, { write }) {
      for (let count = 0; count < 20; count += 1) await write('x'.repeat(65_536));
      isOver = true;
    },
  });
  gateway.respondToWrite = busy('1');
  await offer('t1');
  await pass(clock, 1_000);
  expect(isOver).toBe(false);
  const stopped = agent?.stop({ drainMs: 0, graceMs: 60_000 });
  await pass(clock, 500);
  expect(isOver).toBe(true);
  await elapse(clock, stopped ?? Promise.resolve());
});

test('An agent that stops sends a report again that gets no response, the one under way and those after it.', async () => {
  await startPulling();
  let reports = 0;
  gateway.respondToReport = () => {
    reports += 1;
    return reports <= 2 ? never() : undefined;
  };
  await offer('t1');
  await elapse(clock, agent?.stop({ drainMs: 0 }) ?? Promise.resolve());
  expect(reports).toBe(3);
  expect(gateway.outcomes.get('t1')).toMatchObject({ status: 'success' });
});

test('So is the report of a task whose handler does not end.', async () => {
  await startPulling({ handler: () => new Promise(() => undefined) });
  let reports = 0;
  gateway.respondToReport = () => {
    reports += 1;
    return reports === 1 ? never() : undefined;
  };
  await offer('t1');
  await elapse(clock, agent?.stop({ drainMs: 0, graceMs: 100 }) ?? Promise.resolve());
  expect(reports).toBe(2);
  expect(gateway.outcomes.get('t1')).toMatchObject({ status: 'failed' });
});

test('Until then it does not report again before the time that the gateway asked for.', async () => {
  await startPulling();
  const reports = respondFirst(1, busy('30'));
  await offer('t1');
  await pass(clock, 29_000, 500);
  expect(reports()).toBe(1);
  await pass(clock, 10_000, 500);
  expect(gateway.outcomes.get('t1')).toMatchObject({ status: 'success' });
});

test.each([400, 415, 422])(
  'A result that a proxy refuses with %i is reported again as it was: the gateway has not seen it.',
  async (status) => {
    await startPulling();
    const reports = respondFirst(2, () => new Response('<html>', { status }));
    await offer('t1');
    await pass(clock, 5_000);
    expect(reports()).toBe(3);
    expect(gateway.outcomes.get('t1')).toMatchObject({ status: 'success' });
  },
);

/** Lets an agent take a task whose handler writes and ends, while the gateway responds so to its output. */
async function writeLast(respond: () => Response): Promise<void> {
  await startPulling({
    async handler(_task, { write }) {
      await write('the last words');
      return 'done';
    },
  });
  gateway.respondToWrite = respond;
  await offer('t1');
}

const fromProxy = (status: number) => () => new Response('<html>', { status });

test.each([
  ['no response', 120, () => Response.error()],
  ['502 of a proxy', 120, fromProxy(502)],
  ['504 of a proxy', 120, fromProxy(504)],
  ['store_unavailable', 20, () => json(problem(503, 'store_unavailable'), 503)],
])('The last output outlasts an outage: %s for %i s. The result follows it.', async (_what, s, respond) => {
  await writeLast(respond);
  await pass(clock, s * 1_000, 500);
  expect(gateway.bodies('result')).toEqual([]);
  gateway.respondToWrite = undefined;
  await pass(clock, 10_000, 500);
  expect(gateway.pieces).toEqual([{ text: 'the last words' }]);
  expect(gateway.outcomes.get('t1')).toMatchObject({ status: 'success' });
});

test.each([400, 415, 422])(
  'Output that a proxy refuses with %i is sent again; in the end the result goes without it.',
  async (status) => {
    await writeLast(fromProxy(status));
    await pass(clock, 1_500);
    gateway.respondToWrite = undefined;
    await pass(clock, 5_000);
    expect(gateway.pieces).toEqual([{ text: 'the last words' }]);
    gateway.respondToWrite = fromProxy(status);
    await offer('t2');
    await pass(clock, 60_000, 500);
    expect(gateway.pieces).toHaveLength(1);
    expect(gateway.outcomes.get('t2')).toMatchObject({ status: 'success' });
  },
);

test.each([404, 405, 413, 501])('Output that is refused with %i is not sent again.', async (status) => {
  await writeLast(fromProxy(status));
  await pass(clock, 1_000);
  expect(gateway.bodies('output')).toHaveLength(1);
  expect(gateway.outcomes.get('t1')).toMatchObject({ status: 'success' });
});
