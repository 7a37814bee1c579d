/** Worlds for a suite: each test starts its own, and their stores are closed after the test. */
import { afterEach } from 'vitest';
import type { Store } from '../../server/ports/store.ts';
import { createFakeClock, type FakeClock } from './fake-clock.ts';
import { createWorld, type World, type WorldOptions } from './world.ts';

type StartOptions = Omit<WorldOptions, 'clock'> & { readonly wrap?: (store: Store) => Store };
export type StartWorld = (options?: StartOptions) => Promise<World>;

/**
 * Returns a function that starts a world. Must be called within `describe`. `wrap` is put between gateway and
 * store.
 */
export function useWorlds(open: (clock: FakeClock) => Promise<Store>): StartWorld {
  const opened: World[] = [];
  afterEach(async () => {
    for (const { store } of opened.splice(0)) await store.close();
  });
  return async ({ wrap, ...options }: StartOptions = {}) => {
    const clock = createFakeClock();
    const store = await open(clock);
    const world = createWorld(wrap ? wrap(store) : store, { clock, ...options });
    opened.push(world);
    return world;
  };
}
