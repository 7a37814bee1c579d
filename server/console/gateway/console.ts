/** What all parts of the console share while a reader is signed in. Components get it here. */
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
  /** Read on every page, for the top bar, the banners and what is allowed. */
  readonly overview: Watch<GatewayOverview>;
  /** Whether the data on the page is current, and why not. */
  readonly live: ReadonlySignal<LiveState>;
  /** Why no task can be cancelled and no agent drained, for people; null if both are possible. */
  readonly changeRefusal: ReadonlySignal<string | null>;
  /** Why nothing can be submitted, for people; null if that is possible. */
  readonly submitRefusal: ReadonlySignal<string | null>;
  /** Forgets the secrets. */
  signOut(): void;
};

export const ConsoleContext = createContext<Console | null>(null);

/** Finds the console of a component. Throws outside of a signed-in page. */
export function useConsole(): Console {
  const found = useContext(ConsoleContext);
  if (!found) throw new Error('This component needs a console that is signed in.');
  return found;
}

/**
 * Keeps a value current while the component is shown. The watch begins anew when `key` changes, so `key` must
 * name all that `read` depends on. `everyMs` is the pause between two reads; default: that of
 * `polling.watch()`.
 */
export function useWatch<Value>(key: string, read: Read<Value>, everyMs?: number): Watch<Value> {
  const { polling } = useConsole();
  // `read` need not be a dependency: functions with the same key read the same.
  const watch = useMemo(() => polling.watch(read, everyMs), [polling, key]);
  useEffect(() => () => watch.stop(), [watch]);
  return watch;
}
