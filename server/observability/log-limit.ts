/**
 * Bounds the log lines about things that happen often. In a minute, each kind gets at most 5 lines, and each
 * key of a kind (an agent, an address, some tags) one line. The rest is counted: one line at the end of the
 * minute says how often each kind happened beyond that, and its most frequent key. For example, when an agent
 * is back 200 times in a minute, one line says so at once, and the last line counts the other 199.
 */
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';

export type LogLimit = {
  /** Logs at `info`, or counts. `kind` is the message without fields; `key` is what the message is about. */
  note(kind: string, key: string, fields: object): void;
  /** Logs what has only been counted so far. Called once more at the end of the process. */
  flush(): void;
};

const WINDOW_MS = 60_000;
/** How many lines of one kind are logged in a minute. */
const LINES_MAX = 5;
/** How many keys of one kind are counted separately. All other keys are counted together. */
const KEYS_MAX = 200;
const OTHER_KEYS = 'others';

/** What happened of one kind in this minute: the lines logged, and how often each key was repeated. */
type Kind = { lines: number; readonly repeats: Map<string, number> };

export function createLogLimit({ log, clock }: { readonly log: Log; readonly clock: Clock }): LogLimit {
  let kinds = new Map<string, Kind>();
  let endMs = Number.NEGATIVE_INFINITY;
  let isTimed = false;

  function flush(): void {
    const counted = [...kinds].flatMap(([kind, { repeats }]) => describeRepeats(kind, repeats) ?? []);
    kinds = new Map();
    endMs = Number.NEGATIVE_INFINITY;
    if (counted.length > 0) log.info({ counted }, 'happened again in the last minute, not logged one by one');
  }

  /** Starts a timer for the end of the minute. A minute in which nothing is counted needs none. */
  function flushAtEnd(): void {
    if (isTimed) return;
    isTimed = true;
    void clock.sleep(endMs - clock.monotonicMs()).then(() => {
      isTimed = false;
      flush();
    });
  }

  return {
    note(message, key, fields) {
      const nowMs = clock.monotonicMs();
      if (nowMs >= endMs) {
        flush();
        endMs = nowMs + WINDOW_MS;
      }
      const kind = kinds.get(message) ?? { lines: 0, repeats: new Map<string, number>() };
      kinds.set(message, kind);
      if (kind.lines < LINES_MAX && !kind.repeats.has(key)) {
        kind.lines += 1;
        kind.repeats.set(key, 0);
        log.info(fields, message);
        return;
      }
      const counted = kind.repeats.has(key) || kind.repeats.size < KEYS_MAX ? key : OTHER_KEYS;
      kind.repeats.set(counted, (kind.repeats.get(counted) ?? 0) + 1);
      flushAtEnd();
    },
    flush,
  };
}

/**
 * Writes `an agent is back: 120 more (worker-1: 80)`, with the most frequent key; undefined without repeats.
 */
function describeRepeats(kind: string, repeats: ReadonlyMap<string, number>): string | undefined {
  let total = 0;
  let [mostKey, most] = ['', 0];
  for (const [key, count] of repeats) {
    total += count;
    if (count > most) [mostKey, most] = [key, count];
  }
  if (total === 0) return undefined;
  return `${kind}: ${total} more (${mostKey}${most < total ? `: ${most}` : ''})`;
}
