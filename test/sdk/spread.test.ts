/** Clients and agents that lost their gateway in one moment do not come back in one moment. */
import { expect, test } from 'vitest';
import { createAgent } from '../../sdk/agent/index.ts';
import { ConnectionError, type TaskGatewayError } from '../../sdk/errors.ts';
import { followFeed } from '../../sdk/stream/follow.ts';
import { choosePauseMs } from '../../sdk/waiting.ts';
import { createScriptedGateway } from './scripted-gateway.ts';
import { createSdkClock, elapse } from './sdk-clock.ts';

const RANDOMS = [0, 0.25, 0.5, 0.75, 0.999];

test('Half of a pause is random; of what a server asks for, a quarter is added.', () => {
  const backoff = { firstMs: 1_000, maxMs: 8_000 };
  const pauses = RANDOMS.map((random) => choosePauseMs(createSdkClock(random), backoff, 2));
  expect(pauses).toEqual([2_000, 2_500, 3_000, 3_500, 3_998]);
  const asked = RANDOMS.map((random) => choosePauseMs(createSdkClock(random), backoff, 0, 10_000));
  expect(asked).toEqual([10_000, 10_625, 11_250, 11_875, 12_497.5]);
});

test('Streams that were cut in one moment are opened again over half of the pause.', async () => {
  const pauses = await Promise.all(
    RANDOMS.map(async (random) => {
      const controller = new AbortController();
      const cut: TaskGatewayError = new ConnectionError('connection_failed', 'cut');
      const feed = followFeed({
        openStream: () => Promise.reject(cut),
        readEvent: () => undefined,
        clock: createSdkClock(random),
        log: () => undefined,
        cursor: { lastEventId: undefined },
        idleMs: 60_000,
        maxResponseBytes: 1_000,
        signal: controller.signal,
      });
      const { value } = await feed.next();
      controller.abort();
      await feed.return();
      return value?.kind === 'down' ? value.retryInMs : undefined;
    }),
  );
  expect(pauses).toEqual([2_000, 2_125, 2_250, 2_375, 2_499.5]);
});

test('The heartbeats of agents that started in one moment are up to a tenth of their interval apart from it.', async () => {
  const delays = await Promise.all(
    [0, 0.5, 0.999].map(async (random) => {
      const gateway = createScriptedGateway();
      const clock = createSdkClock(random);
      const agent = createAgent({
        baseUrl: 'http://gateway.test',
        auth: 'a-good-secret',
        tags: ['x'],
        logLevel: 'off',
        endpoint: 'http://agent.test/',
        fetch: gateway.fetch,
        clock,
        handler: () => null,
      });
      await agent.start();
      const startMs = clock.nowMs();
      while (gateway.bodies('heartbeat').length === 0) await clock.advance(10);
      const delayMs = clock.nowMs() - startMs;
      await elapse(clock, agent.stop({ drainMs: 0 }), 1_000);
      return delayMs;
    }),
  );
  expect(delays).toEqual([13_500, 15_000, 16_500]);
});
