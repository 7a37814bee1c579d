/** The loops of the background duties: one that takes long holds up no other. */
import { expect, test } from 'vitest';
import { startDuties } from '../../server/duties.ts';
import type { Duties } from '../../server/gateway/gateway.ts';
import { STORE_LIMITS } from '../../server/ports/limits.ts';
import type { Store } from '../../server/ports/store.ts';
import { createFakeClock } from '../harness/fake-clock.ts';
import { SILENT } from '../harness/silent-log.ts';

const NAMES = ['runDuePass', 'stopMovablePushes', 'trim'] as const;

/** Notifications of a store of which there are none. */
async function* waitForEnd(_topic: string, signal: AbortSignal): AsyncGenerator<void> {
  await new Promise((resolve) => signal.addEventListener('abort', resolve));
}

test.each(NAMES)('leases are renewed in time while %s takes long', async (slow) => {
  const clock = createFakeClock();
  const longWork = Promise.withResolvers<number>();
  let renewals = 0;
  let begun = 0;
  const quick: Duties = {
    runDuePass: async () => 0,
    async renewLeases() {
      renewals += 1;
    },
    stopMovablePushes: async () => undefined,
    trim: async () => 0,
    drainPushes: async () => undefined,
  };
  const work = async (): Promise<number> => {
    begun += 1;
    return await longWork.promise;
  };
  const duties: Duties = Object.assign(quick, { [slow]: work });
  const store = { watch: waitForEnd, health: () => ({ ok: true }) } as unknown as Store;
  const running = startDuties({ duties, store, clock, log: SILENT });
  for (let step = 0; step < 25; step += 1) await clock.advance(STORE_LIMITS.renewLeaseEveryMs);
  expect(begun).toBe(1);
  expect(renewals).toBe(25);
  longWork.resolve(0);
  await running.stop();
});
