/** Worlds for a suite: each test starts its own on the suite's store, and all are closed after it. */
import { afterEach } from 'vitest';
import type { Store } from '../../server/ports/store.ts';
import { createFakeClock, type FakeClock } from './fake-clock.ts';
import { createWorld, type World, type WorldOptions } from './world.ts';

export type StartOptions = Omit<WorldOptions, 'clock'> & { readonly wrap?: (store: Store) => Store };
export type StartWorld = (options?: StartOptions) => Promise<World>;

/** To be called where tests are described; `wrap` puts something between gateway and store. */
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
