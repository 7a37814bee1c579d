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

export type Hints = {
  /** Starts listening; ends with the signal. */
  listen(topic: string, signal: AbortSignal): Listener;
  notify(topic: string): void;
  /** After a deafness: everybody looks. */
  notifyAll(): void;
  hasListener(topic: string): boolean;
  /** Ends all listening, now and later. */
  close(): void;
};

type Ear = { wake(): void; close(): void };

/** So many listeners are woken before anything else gets a turn. */
const EARS_PER_TURN = 500;

/** Creates it without listeners. */
export function createHints(): Hints {
  const topics = new Map<string, Set<Ear>>();
  let closed = false;

  function add(topic: string, ear: Ear): void {
    const ears = topics.get(topic) ?? new Set();
    topics.set(topic, ears.add(ear));
  }

  function drop(topic: string, ear: Ear): void {
    const ears = topics.get(topic);
    ears?.delete(ear);
    if (ears?.size === 0) topics.delete(topic);
  }

  function listen(topic: string, signal: AbortSignal): Listener {
    let hinted = false;
    let over = closed || signal.aborted;
    let waiting: PromiseWithResolvers<boolean> | null = null;
    const ear: Ear = {
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
        drop(topic, ear);
        signal.removeEventListener('abort', ear.close);
      },
    };
    if (!over) {
      add(topic, ear);
      signal.addEventListener('abort', ear.close, { once: true });
    }
    return {
      close: ear.close,
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
      const ears = topics.get(topic);
      if (ears) wakeInTurns(ears);
    },
    notifyAll() {
      wakeInTurns([...topics.values()].flatMap((ears) => [...ears]));
    },
    hasListener: (topic) => topics.has(topic),
    close() {
      closed = true;
      for (const ears of [...topics.values()]) for (const ear of [...ears]) ear.close();
    },
  };
}

/** To wake who has closed meanwhile does no harm. */
function wakeInTurns(ears: Iterable<Ear>): void {
  const all = [...ears];
  const wakeFrom = (from: number): void => {
    for (const ear of all.slice(from, from + EARS_PER_TURN)) ear.wake();
    if (from + EARS_PER_TURN < all.length) setImmediate(() => wakeFrom(from + EARS_PER_TURN));
  };
  wakeFrom(0);
}
