/**
 * Bounds what is logged of things that happen often: in a minute at most this many lines of one kind, and of
 * one key (an agent, an address, some tags) one alone. The rest is counted, and one line says at the end of
 * the minute how often each kind happened in addition and which key most often. For example, when an agent is
 * back 200 times in a minute, one line says so at once, and one at the end counts the other 199.
 */
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';

export type LogLimit = {
  /** Logs at `info`, or counts. `kind` is the message without its fields; `key` what it is about. */
  note(kind: string, key: string, fields: object): void;
  /** Logs what was counted so far. Called once more at the end of the process. */
  flush(): void;
};

const WINDOW_MS = 60_000;
/** Lines of one kind in a minute. */
const LINES_MAX = 5;
/** This many keys of one kind are counted one by one; all others count as one. */
const KEYS_MAX = 200;
const OTHER_KEYS = 'others';

/** One kind in this minute: how many lines were logged, how often each key came again. */
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

  /** A minute begins with its first line, and has a timer only once something is counted. */
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

/** `an agent is back: 120 more (worker-1: 80)`: how often, and its most frequent key; undefined for none. */
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
