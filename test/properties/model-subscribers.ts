/**
 * The subscribers of a model run: one for each session. After a crash or an outage each resumes from its
 * cursor, as a client would.
 */
import { StoreUnavailable } from '../../server/ports/store.ts';
import type { World } from '../harness/world.ts';
import type { StreamedEvent } from './model-history.ts';

type Subscriber = { readonly events: StreamedEvent[]; readonly leave: AbortController };

export type ModelSubscribers = {
  /** The events that each session's subscriber has received, in order. */
  readonly received: ReadonlyMap<string, readonly StreamedEvent[]>;
  /** Subscribes every session to this world's gateway, and ends the subscriptions before it. */
  connect(world: World): void;
  /** Ends all subscriptions. */
  disconnect(): void;
};

/** Creates subscribers that have received nothing and are not connected. */
export function createSubscribers(sessions: readonly string[]): ModelSubscribers {
  const subscribers = new Map<string, Subscriber>();
  const received = new Map<string, StreamedEvent[]>(sessions.map((session) => [session, []]));
  return {
    received,
    connect(world) {
      for (const [session, events] of received) {
        subscribers.get(session)?.leave.abort();
        const subscriber = { events, leave: new AbortController() };
        subscribers.set(session, subscriber);
        void subscribe(world, session, subscriber);
      }
    },
    disconnect() {
      for (const { leave } of subscribers.values()) leave.abort();
    },
  };
}

async function subscribe({ gateway }: World, session: string, { events, leave }: Subscriber): Promise<void> {
  while (!leave.signal.aborted) {
    try {
      const after = events.at(-1)?.cursor ?? null;
      for await (const item of gateway.subscribeEvents(session, after, (item) => item, leave.signal)) {
        if (!item.gap) events.push(item);
      }
      return;
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) return;
      // A store that is closing throws at once. Without a pause the next store would never get to open.
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}
