/**
 * Notifications that something changed, by topic. A notification carries no data. Several notifications that
 * arrive while a listener is busy count as one, which the listener never misses. Many listeners are woken in
 * slices, so that other work runs in between.
 */
type Listener = {
  /**
   * Resolves with true at the next notification, or at once if one is pending; with false once the listener
   * is closed.
   */
  next(): Promise<boolean>;
  /** Idempotent. */
  close(): void;
};

export type Notifications = {
  listen(topics: readonly string[], signal: AbortSignal): Listener;
  notify(topic: string): void;
  /** Notifies every listener. For use after changes may have been missed. */
  notifyAll(): void;
  hasListener(topic: string): boolean;
  /** Closes all listeners, and every later one at once. */
  close(): void;
};

type ListenerEntry = { wake(): void; close(): void };

/** How many listeners are woken before other work runs. */
const LISTENERS_PER_TURN = 500;

export function createNotifications(): Notifications {
  const byTopic = new Map<string, Set<ListenerEntry>>();
  let isClosed = false;

  function add(topic: string, listener: ListenerEntry): void {
    const listeners = byTopic.get(topic) ?? new Set();
    byTopic.set(topic, listeners.add(listener));
  }

  function remove(topic: string, listener: ListenerEntry): void {
    const listeners = byTopic.get(topic);
    listeners?.delete(listener);
    if (listeners?.size === 0) byTopic.delete(topic);
  }

  function listen(topics: readonly string[], signal: AbortSignal): Listener {
    let isPending = false;
    let isOver = isClosed || signal.aborted;
    let waiting: PromiseWithResolvers<boolean> | null = null;
    const listener: ListenerEntry = {
      wake() {
        if (waiting) waiting.resolve(true);
        else isPending = true;
        waiting = null;
      },
      close() {
        if (isOver) return;
        isOver = true;
        waiting?.resolve(false);
        waiting = null;
        for (const topic of topics) remove(topic, listener);
        signal.removeEventListener('abort', listener.close);
      },
    };
    if (!isOver) {
      for (const topic of topics) add(topic, listener);
      signal.addEventListener('abort', listener.close, { once: true });
    }
    return {
      close: listener.close,
      next() {
        if (isOver) return Promise.resolve(false);
        if (isPending) {
          isPending = false;
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
      const listeners = byTopic.get(topic);
      if (listeners) wakeInSlices(listeners);
    },
    notifyAll() {
      wakeInSlices([...byTopic.values()].flatMap((listeners) => [...listeners]));
    },
    hasListener: (topic) => byTopic.has(topic),
    close() {
      isClosed = true;
      for (const listeners of [...byTopic.values()]) for (const listener of [...listeners]) listener.close();
    },
  };
}

/** Waking a listener that was closed meanwhile has no effect. */
function wakeInSlices(listeners: Iterable<ListenerEntry>): void {
  const all = [...listeners];
  const wakeFrom = (from: number): void => {
    for (const listener of all.slice(from, from + LISTENERS_PER_TURN)) listener.wake();
    if (from + LISTENERS_PER_TURN < all.length) setImmediate(() => wakeFrom(from + LISTENERS_PER_TURN));
  };
  wakeFrom(0);
}
