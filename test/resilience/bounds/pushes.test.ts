/**
 * Party A is an agent that takes all of the pushes it can: by hanging in each way there is, or by not reading
 * what it is sent. Party B is a healthy agent, whose tasks are pushed as fast as alone.
 */
import { describe, onTestFinished, test } from 'vitest';
import { type GatewayProcess, startGateway } from '../../harness/gateway-process.ts';
import { expectUnaffected, SCALE } from './beside.ts';
import {
  type Host,
  measurePushesBeside,
  register,
  startSilentHost,
  startStalledHost,
  startUnreachableHost,
  submitFor,
} from './push-parties.ts';

const TASKS = Math.min(5_000, Math.round(2_000 * SCALE));
const LARGE_TASKS = Math.min(150, Math.round(50 * SCALE));
const LARGE = { count: LARGE_TASKS, textLength: 1_000_000 };
const TIMEOUT = { timeout: 300_000 };

async function start(): Promise<GatewayProcess> {
  const gateway = await startGateway();
  onTestFinished(async () => void (await gateway.stop()));
  return gateway;
}

describe('beside one agent', TIMEOUT, () => {
  test.each<[string, () => Promise<Host>]>([
    ['whose host responds to nothing', startSilentHost],
    ['whose host accepts no connection', startUnreachableHost],
    ['whose host ends no TLS handshake', () => startStalledHost('https')],
  ])(`with ${TASKS} tasks %s, pushes to another are as fast as alone`, async (kind, startHost) => {
    const gateway = await start();
    const host = await startHost();
    const measured = await measurePushesBeside({
      name: kind.replaceAll(' ', '-'),
      baseUrl: gateway.baseUrl,
      async takeAll(caller) {
        await register(caller, 'hanging', host.url);
        await submitFor(caller, 'hanging', { count: TASKS, textLength: 100 });
        return host.close;
      },
    });
    expectUnaffected(measured);
  });

  test.each([
    ['small', 100],
    ['large', 100_000],
  ])(
    `that does not read its ${LARGE_TASKS} tasks of 1 MB, %s pushes to another are as fast as alone`,
    async (size, textLength) => {
      const gateway = await start();
      const host = await startStalledHost('http');
      const measured = await measurePushesBeside({
        name: `${size}-beside-unread`,
        baseUrl: gateway.baseUrl,
        textLength,
        async takeAll(caller) {
          await submitFor(caller, 'stalled', LARGE);
          await register(caller, 'stalled', host.url);
          return host.close;
        },
      });
      expectUnaffected(measured);
    },
  );
});
