/**
 * Who wants to hear of what: listeners by topic. A hint carries nothing and hints that arrive while nobody listens
 * for the moment count as one; a listener never misses that there was one. When very many listen they are woken in
 * slices, so that others get their turn in between.
 */
export type Listener = {
  /** Resolves true at the next hint (at once when one has come), false when the listener was closed or aborted. */
  next(): Promise<boolean>;
  close(): void;
};

export type Notifications = {
  /** Starts listening; ends with the signal. */
  listen(topic: string, signal: AbortSignal): Listener;
  notify(topic: string): void;
  /** After a deafness: everybody looks. */
  notifyAll(): void;
  hasListener(topic: string): boolean;
  /** Ends all listening, now and later. */
  close(): void;
};

type ListenerEntry = { wake(): void; close(): void };

/** So many listeners are woken before anything else gets a turn. */
const LISTENERS_PER_TURN = 500;

/** Creates it without listeners. */
export function createNotifications(): Notifications {
  const topics = new Map<string, Set<ListenerEntry>>();
  let closed = false;

  function add(topic: string, listener: ListenerEntry): void {
    const listeners = topics.get(topic) ?? new Set();
    topics.set(topic, listeners.add(listener));
  }

  function drop(topic: string, listener: ListenerEntry): void {
    const listeners = topics.get(topic);
    listeners?.delete(listener);
    if (listeners?.size === 0) topics.delete(topic);
  }

  function listen(topic: string, signal: AbortSignal): Listener {
    let hinted = false;
    let over = closed || signal.aborted;
    let waiting: PromiseWithResolvers<boolean> | null = null;
    const listener: ListenerEntry = {
      wake() {
        if (waiting) waiting.resolve(true);
        else hinted = true;
        waiting = null;
      },
      close() {
        if (over) return;
        over = true;
        waiting?.resolve(false);
        waiting = null;
        drop(topic, listener);
        signal.removeEventListener('abort', listener.close);
      },
    };
    if (!over) {
      add(topic, listener);
      signal.addEventListener('abort', listener.close, { once: true });
    }
    return {
      close: listener.close,
      next() {
        if (over) return Promise.resolve(false);
        if (hinted) {
          hinted = false;
          return Promise.resolve(true);
        }
        waiting ??= Promise.withResolvers();
        return waiting.promise;
      },
    };
  }

  return {
    listen,
    notify(topic) {
      const listeners = topics.get(topic);
      if (listeners) wakeInTurns(listeners);
    },
    notifyAll() {
      wakeInTurns([...topics.values()].flatMap((listeners) => [...listeners]));
    },
    hasListener: (topic) => topics.has(topic),
    close() {
      closed = true;
      for (const listeners of [...topics.values()]) for (const listener of [...listeners]) listener.close();
    },
  };
}

/** To wake who has closed meanwhile does no harm. */
function wakeInTurns(listeners: Iterable<ListenerEntry>): void {
  const all = [...listeners];
  const wakeFrom = (from: number): void => {
    for (const listener of all.slice(from, from + LISTENERS_PER_TURN)) listener.wake();
    if (from + LISTENERS_PER_TURN < all.length) setImmediate(() => wakeFrom(from + LISTENERS_PER_TURN));
  };
  wakeFrom(0);
}
