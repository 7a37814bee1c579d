/** All parts of the console share one object while a reader is signed in; components get it here. */
import type { ReadonlySignal } from '@preact/signals';
import { createContext } from 'preact';
import { useContext, useEffect, useMemo } from 'preact/hooks';
import type { ConsoleClient } from './client.ts';
import type { GatewayTime } from './gateway-time.ts';
import type { LiveState } from './live-state.ts';
import type { Polling, Read, Watch } from './polling.ts';
import type { GatewayOverview } from './shapes.ts';

export type Console = {
  readonly client: ConsoleClient;
  readonly polling: Polling;
  readonly time: GatewayTime;
  /** Read on every page: for the top bar, the banners and what is allowed. */
  readonly overview: Watch<GatewayOverview>;
  /** Whether what is shown is current, and why not. */
  readonly live: ReadonlySignal<LiveState>;
  /** Why no task can be cancelled and no agent drained, for people; null where it can. */
  readonly changeRefusal: ReadonlySignal<string | null>;
  /** Why nothing can be submitted, for people; null where it can. */
  readonly submitRefusal: ReadonlySignal<string | null>;
  /** Forgets the secrets. */
  signOut(): void;
};

export const ConsoleContext = createContext<Console | null>(null);

/** The console of the component that calls it. Throws outside of a signed-in page. */
export function useConsole(): Console {
  const found = useContext(ConsoleContext);
  if (!found) throw new Error('This component needs a console that is signed in.');
  return found;
}

/**
 * Keeps a value current while the component is shown. It begins anew when `key` changes, which must name all
 * that `read` depends on. `everyMs`: the pause between two reads, by default that of `polling.watch()`.
 */
export function useWatch<Value>(key: string, read: Read<Value>, everyMs?: number): Watch<Value> {
  const { polling } = useConsole();
  // The read belongs to its key: another function with the same key reads the same.
  const watch = useMemo(() => polling.watch(read, everyMs), [polling, key]);
  useEffect(() => () => watch.stop(), [watch]);
  return watch;
}
