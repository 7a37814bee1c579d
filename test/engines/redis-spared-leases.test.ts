/** When a process leaves leases that may have run out to their holders, and when it takes all the same. */
import { expect, test } from 'vitest';
import { createSparedLeases } from '../../server/engines/redis/spared-leases.ts';
import { createFakeClock } from '../harness/fake-clock.ts';

test('none are spared while sweeps are replied to, nor after a short loss of the connection', async () => {
  const clock = createFakeClock();
  const leases = createSparedLeases(clock);
  for (let sweeps = 0; sweeps < 20; sweeps += 1) {
    await clock.advance(1_000);
    leases.noteSwept(clock.monotonicMs() - 1_000);
    leases.noteReopened();
    expect([leases.areSpared(), leases.mayBeLate()]).toEqual([false, false]);
  }
});

test('after a loss in which leases may have run out they are spared for as long as a renewal may take', async () => {
  const clock = createFakeClock();
  const leases = createSparedLeases(clock);
  await clock.advance(1_100);
  leases.noteReopened();
  await clock.advance(1_049);
  expect(leases.areSpared()).toBe(true);
  await clock.advance(1);
  expect([leases.areSpared(), leases.mayBeLate()]).toEqual([false, false]);
});

test('after a late sweep they are spared, and where each is late every other one takes', async () => {
  const clock = createFakeClock();
  const leases = createSparedLeases(clock);
  for (let sweeps = 0; sweeps < 3; sweeps += 1) {
    await clock.advance(2_000);
    leases.noteSwept(clock.monotonicMs() - 2_000);
    expect([leases.areSpared(), leases.mayBeLate()]).toEqual([true, true]);
    await clock.advance(1_050);
    expect(leases.areSpared()).toBe(false);
  }
  leases.noteSwept(clock.monotonicMs());
  expect(leases.mayBeLate()).toBe(false);
});
