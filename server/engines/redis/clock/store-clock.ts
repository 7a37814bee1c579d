/**
 * Keeps the store's time: TIME of Redis and an offset that all processes share, in `meta`. No wall clock is
 * believed beyond what a monotonic clock confirms. So a step of Redis' clock, or a failover to a host whose
 * clock is another, is taken into the offset, and the store's time goes on:
 *
 *    TIME        10:00:00  10:00:01 | 11:00:02  11:00:03          the clock of Redis steps by an hour
 *    offset             0         0 |  -1:00:00  -1:00:00         one process sets it, the others find it set
 *    store time  10:00:00  10:00:01 | 10:00:02  10:00:03          nothing expires, nothing is trimmed
 *
 * Every script gets two bounds: by its caller's clock, the store's time lies between them when the call
 * arrives (`store-time.ts`). If TIME and the offset are outside, a script that writes applies nothing and
 * replies with what it knows of the clock (`scripts/time.lua`, `scripts/agreement.lua`); one that only reads
 * takes the nearest bound as the time.
 *
 *    call ----> script: TIME + offset within the bounds? -- yes --> applied
 *      ^                            | no
 *      |                            v
 *      |        the reply, as a sample, contradicts our clock? -- no: the call was on its way for long --+
 *      |                            | yes                                                                |
 *      |                            v                                                                    |
 *      |        the offset has a new number ----------> another process set it: learn its time ----------+
 *      |        another swept in what is our future  -> our own clock stood still (for example in a      |
 *      |        |                                       suspended virtual machine): learn the time ------+
 *      |        v                                                                                        |
 *      |        else Redis' clock stepped: set the offset, if its number is still the same --------------+
 *      |                                                                                                 |
 *      +-------------------------------------- the call is sent again -----------------------------------+
 *
 * When all gateways had stopped, none measured the time between: `decideStart` says whether it counts.
 * Before, a gateway listens for a moment: if others run, and Redis stepped just now, they set the offset.
 * Time is left out when the clocks of Redis and of the gateway's host differ, and added when they agree;
 * until then tasks expire only by time that gateways measured.
 */
import { StoreUnavailable } from '../../../ports/store.ts';
import type { Reply } from '../client/client.ts';
import { ClockDisagreement } from '../client/failures.ts';
import type { Script } from '../scripts.ts';
import { type ClockAgreementDeps, createClockAgreement, readLook, type SetClock } from './clock-agreement.ts';
import type { ClockReading } from './clock-decisions.ts';
import { createStoreTime } from './store-time.ts';

/** Runs a script; `args` follow the epoch and the time. */
type Call = (script: Script, args: readonly string[]) => Promise<Reply>;

export type StoreClock = {
  /** Milliseconds since the Unix epoch by the store's time; never falls. */
  nowMs(): number;
  /** The time argument of a script. */
  argument(): string;
  /** Learns from the reply about the clock to a call of `sentMs` (monotonic). */
  learn(reading: Reply | undefined, sentMs: number, setClock: SetClock): void;
  /** The same of a new connection. Resolves when this process and the store agree about the time. */
  begin(reading: Reply | undefined, sentMs: number, setClock: SetClock): Promise<void>;
  /** Returns the call with a disagreement resolved and the call repeated, if it began less than 3 s ago. */
  guard(call: Call, setClock: SetClock): Call;
  /** Says what a person should set right, without any secret; null when all is well. */
  warning(): string | null;
};

/** A call that began earlier than this is not repeated: its caller is about to give up. */
const REPEAT_WITHIN_MS = 3_000;

/** A smaller difference between TIME and the time of the store is nothing to act on. */
const WARN_FROM_MS = 5_000;

/** Creates it for one process; it outlives connections. */
export function createStoreClock(deps: ClockAgreementDeps): StoreClock {
  const { clock, log, wallMs } = deps;
  const time = createStoreTime(clock);
  const agreement = createClockAgreement(deps, time);
  /** Calls that disagree at once are resolved by one of them. */
  let resolving: Promise<void> | null = null;
  let isAdding = false;

  async function addTimeLeftOut(reading: ClockReading, setClock: SetClock): Promise<void> {
    if (isAdding) return;
    isAdding = true;
    try {
      await agreement.addTimeLeftOut(reading, setClock);
    } catch (error) {
      log.debug({ err: error }, 'the time that was left out is added later');
    } finally {
      isAdding = false;
    }
  }

  return {
    nowMs: time.nowMs,
    argument() {
      const bounds = time.bounds();
      return bounds ? `${bounds.earliestMs} ${bounds.latestMs}` : '';
    },
    learn(reply, sentMs, setClock) {
      const { reading, sample } = readLook(reply, sentMs);
      time.learn(sample);
      agreement.note(reading);
      if (reading.isTimeLeftOut) void addTimeLeftOut(reading, setClock);
    },
    async begin(reply, sentMs, setClock) {
      const looked = readLook(reply, sentMs);
      await (time.bounds() ? agreement.resolve(looked, setClock) : agreement.start(looked, setClock));
    },
    guard: (call, setClock) => async (script, args) => {
      const beganMs = clock.monotonicMs();
      for (;;) {
        const sentMs = clock.monotonicMs();
        try {
          return await call(script, args);
        } catch (error) {
          if (!(error instanceof ClockDisagreement)) throw error;
          if (clock.monotonicMs() - beganMs > REPEAT_WITHIN_MS)
            throw new StoreUnavailable('The call was on its way to Redis for too long; it was not applied.');
          const looked = readLook(error.reading, sentMs);
          resolving ??= agreement.resolve(looked, setClock).finally(() => {
            resolving = null;
          });
          await resolving;
        }
      }
    },
    warning() {
      const last = agreement.last();
      return last ? describe(last, wallMs()) : null;
    },
  };
}

function describe(reading: ClockReading, wallMs: number): string | null {
  const { offsetMs, isTimeLeftOut, redisMs } = reading;
  if (isTimeLeftOut) {
    const apart = Math.round(Math.abs(redisMs - wallMs) / 1_000);
    return (
      `the clocks of Redis and of this host are ${apart} s apart, so the time in which no gateway ran does not ` +
      'count; work goes on: set both clocks right, and it is added'
    );
  }
  if (Math.abs(offsetMs) < WARN_FROM_MS) return null;
  const seconds = Math.round(Math.abs(offsetMs) / 1_000);
  const side = offsetMs < 0 ? 'ahead of' : 'behind';
  return `the clock of Redis is ${seconds} s ${side} the time of the store, which goes on by itself`;
}

/** A clock that a test moves by hand: every script is given its time, and nothing is learned. */
export function createTestClock(nowMs: () => number): StoreClock {
  return {
    nowMs,
    argument: () => String(nowMs()),
    learn: () => undefined,
    begin: async () => undefined,
    guard: (call) => call,
    warning: () => null,
  };
}
