/**
 * The clock of the Redis host steps under running gateways: nothing expires, nothing is trimmed, dispatching
 * goes on within two seconds, events keep their order, and log and `/readyz` say what happened.
 * @module-tag redis
 */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { get, type Stream, startPushAgent, submit, subscribe } from '../../e2e/plain-calls.ts';
import { printFigure } from '../../harness/figures.ts';
import { type GatewayProcess, startGateway } from '../../harness/gateway-process.ts';
import { MACHINE_SLACK_MS } from '../../harness/slack.ts';
import { type SteppedRedis, startSteppedRedis } from '../../harness/stepped-redis.ts';

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;
/** Dispatching stands still for at most this long. */
const DISPATCH_WITHIN_MS = 2 * SECOND;
const WAIT = { timeout: 60_000, interval: 20 };
const STEPS = [
  ['25 h ahead', 25 * HOUR],
  ['11 min ahead', 660 * SECOND],
  ['20 s back', -20 * SECOND],
  ['1 h back', -HOUR],
] as const;

let closing: (() => unknown)[] = [];
let redis: SteppedRedis;
beforeEach(() => {
  closing = [];
});
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function launch(shiftMs = 0): Promise<SteppedRedis> {
  redis = await startSteppedRedis(shiftMs);
  closing.push(redis.dispose);
  return redis;
}

async function start(env: Readonly<Record<string, string>> = {}): Promise<GatewayProcess> {
  const gateway = await startGateway({ STORE: redis.url, ...env });
  closing.push(gateway.stop);
  return gateway;
}

async function startAgent(url: string, agent_id = 'clock-agent'): Promise<void> {
  const agent = await startPushAgent(url, { agent_id, capacity: 100, pauseMs: 0 });
  closing.push(agent.close);
}

async function listen(url: string): Promise<Stream> {
  const stream = await subscribe(url, 'clock');
  closing.push(stream.leave);
  return stream;
}

const readStatus = async (url: string, id: string) => (await get(url, `/api/cli/tasks/${id}`)).body.status;
const readReadiness = async (url: string) => {
  const response = await fetch(`${url}/readyz`);
  return { status: response.status, body: (await response.json()) as { readonly warning?: string } };
};

/** Resolves with the milliseconds from submitting a task until its result is there. */
async function measureTask(url: string): Promise<number> {
  const beganMs = performance.now();
  const id = await submit(url, { cli_session_id: 'clock' });
  await vi.waitFor(async () => expect(await readStatus(url, id)).toBe('success'), WAIT);
  return performance.now() - beganMs;
}

/** The log's entries that say so about the clock. */
const countClockEntries = (gateway: GatewayProcess): number =>
  gateway.output().split('the clock of Redis is not the time of the store').length - 1;

function expectRising(stream: Stream): void {
  const keys = stream.events.map(({ id }) => id.split('-').map(Number));
  for (const [index, [ms = 0, number = 0]] of keys.entries()) {
    const [lastMs = 0, lastNumber = 0] = keys[index - 1] ?? [];
    expect(ms > lastMs || (ms === lastMs && number > lastNumber), stream.events[index]?.id).toBe(true);
  }
}

describe('the clock of the Redis host', { tags: 'faketime' }, () => {
  test.each(STEPS)('steps %s under two gateways', { timeout: 300_000 }, async (name, stepMs) => {
    await launch();
    const [one, two] = [await start(), await start()];
    const urls = [one.baseUrl, two.baseUrl];
    await startAgent(one.baseUrl);
    const stream = await listen(two.baseUrl);
    const done = await submit(one.baseUrl, { cli_session_id: 'clock' });
    await vi.waitFor(async () => expect(await readStatus(one.baseUrl, done)).toBe('success'), WAIT);
    const open = await submit(one.baseUrl, { task_tags: ['none'], queue_timeout: 500, timeout: 600 });

    redis.setClock(stepMs);
    const times = [await measureTask(one.baseUrl), await measureTask(two.baseUrl)];
    printFigure(`redis-clock.${name.replaceAll(' ', '-')}`, Math.round(Math.max(...times)), 'ms');
    for (const tookMs of times) expect(tookMs).toBeLessThan(DISPATCH_WITHIN_MS + MACHINE_SLACK_MS);
    for (const url of urls) {
      await vi.waitFor(
        async () => expect((await readReadiness(url)).body.warning).toMatch(/clock of Redis/),
        WAIT,
      );
      expect((await readReadiness(url)).status).toBe(200);
    }
    for (let rounds = 0; rounds < 10; rounds += 1) await measureTask(urls[rounds % 2] ?? '');
    for (const url of urls) {
      expect(await readStatus(url, open)).toBe('pending');
      expect((await get(url, `/api/cli/tasks/${done}`)).status).toBe(200);
    }
    await vi.waitFor(() => expect(stream.events).toHaveLength(13), WAIT);
    expectRising(stream);
    for (const gateway of [one, two]) expect(countClockEntries(gateway)).toBe(1);
  });

  test.each([
    ['25 h ahead', 25 * HOUR],
    ['1 h back', -HOUR],
  ])('is another after a failover, %s', { timeout: 300_000 }, async (_name, stepMs) => {
    await launch();
    const gateway = await start();
    const url = gateway.baseUrl;
    await startAgent(url);
    const stream = await listen(url);
    await measureTask(url);
    const open = await submit(url, { task_tags: ['none'], queue_timeout: 500, timeout: 600 });
    // The same data on a host with another clock.
    await redis.kill();
    redis.setClock(stepMs);
    await redis.restart();
    await vi.waitFor(async () => expect((await readReadiness(url)).status).toBe(200), WAIT);
    expect(await measureTask(url)).toBeLessThan(DISPATCH_WITHIN_MS + MACHINE_SLACK_MS);
    expect(await readStatus(url, open)).toBe('pending');
    expect((await readReadiness(url)).body.warning).toMatch(/clock of Redis/);
    await vi.waitFor(() => expect(stream.events).toHaveLength(2), WAIT);
    expectRising(stream);
  });

  test('steps while one gateway stands still, and another starts: all go on by the same time', {
    timeout: 300_000,
  }, async () => {
    await launch();
    const [stopped, running] = [await start(), await start()];
    await startAgent(running.baseUrl);
    await measureTask(stopped.baseUrl);
    const open = await submit(running.baseUrl, { task_tags: ['none'], queue_timeout: 500, timeout: 600 });
    process.kill(stopped.pid, 'SIGSTOP');
    try {
      redis.setClock(25 * HOUR);
      // Longer than the pause after which sweeping counts as resumed.
      const endMs = performance.now() + 8 * SECOND;
      while (performance.now() < endMs) await measureTask(running.baseUrl);
      await start();
    } finally {
      process.kill(stopped.pid, 'SIGCONT');
    }
    for (let rounds = 0; rounds < 10; rounds += 1) await measureTask(stopped.baseUrl);
    expect(await readStatus(stopped.baseUrl, open)).toBe('pending');
    expect(countClockEntries(running)).toBe(1);
    expect(stopped.output()).not.toMatch(/stood still/);
  });

  test('steps while all gateways are stopped: the time between does not count, work goes on', {
    timeout: 300_000,
  }, async () => {
    await launch();
    const first = await start();
    const open = await submit(first.baseUrl, { task_tags: ['none'], queue_timeout: 500, timeout: 600 });
    await first.stop();
    redis.setClock(25 * HOUR);

    const second = await start();
    const { status, body } = await readReadiness(second.baseUrl);
    expect(status).toBe(200);
    expect(body.warning).toMatch(/are 90000 s apart.* work goes on: set both clocks right, and it is added/);
    await startAgent(second.baseUrl);
    await measureTask(second.baseUrl);
    expect(await readStatus(second.baseUrl, open)).toBe('pending');
    // A person sets the clock of the Redis host right: nothing is left out any more.
    redis.setClock(0);
    await vi.waitFor(
      async () => expect((await readReadiness(second.baseUrl)).body).toEqual({ status: 'ok' }),
      WAIT,
    );
    await measureTask(second.baseUrl);
    expect(await readStatus(second.baseUrl, open)).toBe('pending');
  });
});
