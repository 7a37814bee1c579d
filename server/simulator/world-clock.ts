/**
 * How a test moves the time of a world. While the time moves, the gateway's duties run as in a process: what
 * is due is done at its millisecond, and in between there is a sweep every few seconds.
 */
import { WorldBusy, type WorldClock } from './moving-time.ts';
import type { RunningWorld } from './world.ts';

/** Shorter than the pause after which sweeping counts as interrupted. */
const SWEEP_EVERY_MS = 4_000;
/** Shorter than a lease. */
const RENEW_EVERY_MS = 1_000;
const TRIM_EVERY_MS = 60_000;
/** The longest step of `advance`: a year. */
const ADVANCE_MAX_SECONDS = 366 * 24 * 3_600;

/** Creates the clock. `world()` returns the world that runs now. */
export function createWorldClock(world: () => RunningWorld): WorldClock {
  let last: Promise<unknown> = Promise.resolve();

  /** Movements run one after the other. */
  function moveNext<T>(move: () => Promise<T>): Promise<T> {
    const moved = last.then(move);
    last = moved.catch(() => undefined);
    return moved;
  }

  return {
    now: () => world().nowSeconds(),
    nowMs: () => world().nowSeconds() * 1_000,
    monotonicMs: () => world().clock.monotonicMs(),
    async sleep(ms, signal) {
      const { clock, activity } = world();
      await clock.sleep(ms, signal);
      activity.noteDue();
    },
    chance: () => world().random(),
    settle: () => moveNext(() => world().activity.settle()),
    advance: (seconds) => {
      if (!(seconds >= 0 && seconds <= ADVANCE_MAX_SECONDS)) {
        throw new RangeError(`advance() takes 0 to ${ADVANCE_MAX_SECONDS} seconds, not ${seconds}.`);
      }
      return moveNext(async () => {
        await moveTo(world(), world().clock.monotonicMs() + seconds * 1_000);
        return world().nowSeconds();
      });
    },
    auto: () =>
      moveNext(async () => {
        const { countOpen, activity, nowSeconds } = world();
        for (let looks = 0; looks < LOOKS_MAX && countOpen() > 0; looks += 1) await activity.settle();
        await activity.settle();
        const open = countOpen();
        if (open > 0) {
          throw new WorldBusy(`${open} requests or pushes are open. Let them end, then call auto() again.`);
        }
        await jump(world());
        return nowSeconds();
      }),
    runUntil: (work) => moveNext(() => runUntil(world(), work)),
  };
}

/** Moves the time to `targetMs`, and runs the duties of a gateway's process on the way. */
async function moveTo(world: RunningWorld, targetMs: number): Promise<void> {
  const { clock, activity, open } = world;
  const { duties, pusher, dispatch } = await open();
  let sweptMs = clock.monotonicMs();
  let renewedMs = sweptMs;
  let trimmedMs = sweptMs;
  dispatch();
  await activity.settle();
  while (clock.monotonicMs() < targetMs) {
    const lookMs = pusher.openCount() > 0 ? renewedMs + RENEW_EVERY_MS : sweptMs + SWEEP_EVERY_MS;
    const wakeMs = clock.nextWakeMs() ?? targetMs;
    const nextMs = Math.min(targetMs, wakeMs, sweptMs + SWEEP_EVERY_MS, lookMs);
    clock.moveTo(nextMs);
    if (nextMs >= lookMs) {
      renewedMs = nextMs;
      await activity.track(duties.renewLeases().catch(() => undefined));
      await activity.track(duties.stopMovablePushes().catch(() => undefined));
    }
    if (nextMs >= sweptMs + SWEEP_EVERY_MS) {
      sweptMs = nextMs;
      dispatch();
    }
    if (nextMs >= trimmedMs + TRIM_EVERY_MS) {
      trimmedMs = nextMs;
      await activity.track(trimAll(duties.trim));
    }
    await activity.settle();
  }
}

/** Moves to the next moment at which something happens. Resolves with false if there is none. */
async function jump(world: RunningWorld): Promise<boolean> {
  const { clock, activity } = world;
  const before = activity.dueCount();
  for (;;) {
    const wakeMs = clock.nextWakeMs();
    if (wakeMs === undefined) return false;
    await moveTo(world, wakeMs);
    if (activity.dueCount() > before) return true;
  }
}

async function runUntil<T>(world: RunningWorld, work: Promise<T>): Promise<T> {
  const { clock, activity, countOpen, waiting } = world;
  let isOver = false;
  const ended = work.finally(() => {
    isOver = true;
  });
  ended.catch(() => undefined);
  const before = activity.count();
  const hasBegun = (): boolean => isOver || activity.count() > before;
  await waitFor(hasBegun, waiting() > 0 ? LOADING_MS : FIRST_LOADING_MS);
  for (let seen = -1; !isOver && seen !== activity.count(); ) {
    seen = activity.count();
    await waitFor(() => isOver, QUIET_MS);
  }
  const lastMs = clock.monotonicMs() + ADVANCE_MAX_SECONDS * 1_000;
  for (;;) {
    await activity.settle();
    await waitFor(() => isOver || countOpen() === 0, OUTSIDE_MS);
    if (isOver) return await ended;
    const isStuck = !(await jump(world)) || clock.monotonicMs() > lastMs;
    if (!isStuck) continue;
    await waitFor(() => isOver, LOADING_MS);
    if (!isOver) throw new Error('Nothing is due any more, and the work has not ended.');
  }
}

/** How long the SDK may load code in real time before the call of a test reaches the world. */
const LOADING_MS = 250;
/** The same limit if no other call is open. */
const FIRST_LOADING_MS = 2_000;
/** The SDK may load code between two calls too. The time moves once nothing has happened for this long. */
const QUIET_MS = 30;

/** How long a handler of the test may work on a push in real time. */
const OUTSIDE_MS = 1_000;

/** Resolves when `holds()` returns true, or after `ms` of real time. */
async function waitFor(holds: () => boolean, ms: number): Promise<void> {
  const endMs = performance.now() + ms;
  while (!holds() && performance.now() < endMs) await new Promise((resolve) => setTimeout(resolve, 1));
}

/** How often `auto()` looks again: a handler of the test may need some turns of the event loop. */
const LOOKS_MAX = 10;

async function trimAll(trim: () => Promise<number>): Promise<void> {
  while ((await trim().catch(() => 0)) > 0);
}
