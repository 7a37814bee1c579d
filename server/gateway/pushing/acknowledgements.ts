/**
 * Acknowledgements that wait to be committed. Most tasks are reported soon after their agent took them, and
 * then the report's commit suffices. So an acknowledgement waits for up to 250 ms, while the push keeps its
 * lease:
 *
 *   2xx or 409 ─▶ waits ── a commit of this process acknowledges or settles the task ─▶ falls away
 *                   ╰───── 250 ms are over, or the gateway drains ────────────────────▶ is committed
 *
 * Invariant: no response and no other commit rests on a waiting acknowledgement. If it falls away, the commit
 * that made it needless has it in the history. If the process dies meanwhile, the attempt counts as unknown,
 * and the task is pushed again under the same `webhook-id`.
 *
 * One timer serves all waiting acknowledgements; each takes about 200 bytes.
 */
import type { AwaitedAcknowledgement } from '../../domain/history.ts';
import type { Clock } from '../../ports/clock.ts';

export type Acknowledgements = {
  /** Resolves with true when the acknowledgement is to be committed, with false when it has fallen away. */
  wait(request_id: string, awaited: AwaitedAcknowledgement): Promise<boolean>;
  /** The waiting acknowledgement of this task; null if there is none. */
  find(request_id: string): AwaitedAcknowledgement | null;
  /** Called when a commit of this process acknowledged or settled the task. */
  drop(request_id: string): void;
  /** Ends all waits, so that each acknowledgement is committed now. Later ones do not wait. */
  flush(): void;
};

const ACKNOWLEDGE_WITHIN_MS = 250;

type Waiting = {
  readonly untilMs: number;
  readonly awaited: AwaitedAcknowledgement;
  readonly end: (isNeeded: boolean) => void;
};

export function createAcknowledgements(clock: Clock): Acknowledgements {
  /** Oldest first. */
  const waiting = new Map<string, Waiting>();
  let isTiming = false;
  let isFlushed = false;

  function end(request_id: string, isNeeded: boolean): void {
    const one = waiting.get(request_id);
    waiting.delete(request_id);
    one?.end(isNeeded);
  }

  /** Runs while an acknowledgement waits. */
  async function time(): Promise<void> {
    isTiming = true;
    for (let [next] = waiting.values(); next; [next] = waiting.values()) {
      await clock.sleep(Math.max(0, next.untilMs - clock.monotonicMs()));
      const nowMs = clock.monotonicMs();
      for (const [request_id, { untilMs }] of waiting) {
        if (untilMs > nowMs) break;
        end(request_id, true);
      }
    }
    isTiming = false;
  }

  return {
    wait(request_id, awaited) {
      if (isFlushed) return Promise.resolve(true);
      // If an earlier push of this task waits here, its wait ends.
      end(request_id, true);
      const { promise, resolve } = Promise.withResolvers<boolean>();
      const untilMs = clock.monotonicMs() + ACKNOWLEDGE_WITHIN_MS;
      waiting.set(request_id, { untilMs, awaited, end: resolve });
      if (!isTiming) void time();
      return promise;
    },
    find: (request_id) => waiting.get(request_id)?.awaited ?? null,
    drop: (request_id) => end(request_id, false),
    flush() {
      isFlushed = true;
      for (const request_id of [...waiting.keys()]) end(request_id, true);
    },
  };
}
