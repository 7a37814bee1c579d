/**
 * Keeps the store's time: TIME of Redis and an offset that all processes share, in `meta`. No wall clock is
 * believed beyond what a monotonic clock confirms. So a step of Redis' clock, or a failover to a host whose
 * clock is another, is taken into the offset, and the store's time goes on:
 *
 *    TIME        10:00:00  10:00:01 | 11:00:02  11:00:03          the clock of Redis steps by an hour
 *    offset             0         0 |  -1:00:00  -1:00:00         one process sets it, the others find it set
 *    store time  10:00:00  10:00:01 | 10:00:02  10:00:03          nothing expires, nothing is trimmed
 *
 * Every script gets the bounds of what its caller thinks the store's time can be when the call arrives
 * (`store-time.ts`). One that writes applies nothing outside of them and replies with what it knows of the
 * clock (`time.lua`, `agreement.lua`); one that only reads takes the nearest bound as the time.
 *
 *    call ----> script: TIME + offset within the bounds? -- yes --> applied
 *      ^                            | no
 *      |                            v
 *      |        the reply, as a sample, contradicts our clock? -- no: the call was on its way for long --+
 *      |                            | yes                                                                |
 *      |                            v                                                                    |
 *      |        the offset has a new number ----------> another process set it: learn its time ----------+
 *      |        another swept in what is our future  -> our own clock stood still (a virtual machine     |
 *      |        |                                       that was suspended): learn the store's time -----+
 *      |        v                                                                                        |
 *      |        else Redis' clock stepped: set the offset, if its number is still the same --------------+
 *      |                                                                                                 |
 *      +-------------------------------------- the call is sent again -----------------------------------+
 *
 * All gateways stopped: nothing measured the time between. `decideStart` says how it is judged. Before it is,
 * a starting gateway listens for a moment: one that runs, and whose Redis stepped just now, sets the offset.
 * Time that was left out is added when the clocks of Redis and of a gateway's host agree, or by
 * `STORE_CLOCK=trust`; until then tasks expire only by time that gateways measured.
 *
 * A replica of version 1.0 takes TIME as it is: it works beside this one while the offset is 0.
 */
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import { StoreUnavailable } from '../../ports/store.ts';
import type { Reply } from './client.ts';
import {
  type ClockFacts,
  type ClockSetting,
  checkHostsAgree,
  checkTimeGoesOn,
  classifyDisagreement,
  decideStart,
  parseClockFacts,
  storeMsOf,
} from './clock-decisions.ts';
import { ClockDisagreement } from './failures.ts';
import type { Script } from './scripts.ts';
import { CLOCK_STEP_MS, createStoreTime } from './store-time.ts';

/** Runs a script; `args` follow the epoch and the time. */
type Call = (script: Script, args: readonly string[]) => Promise<Reply>;
/** Runs `set_clock.lua`. */
export type SetClock = (args: readonly string[]) => Promise<Reply>;

export type StoreClock = {
  /** Milliseconds since the Unix epoch by the store's time; never falls. */
  nowMs(): number;
  /** The time argument of a script. */
  argument(): string;
  /** Takes what the reply to a call that was sent at `sentMs` (monotonic) says of the clock. */
  learn(facts: Reply | undefined, sentMs: number, setClock: SetClock): void;
  /** Takes what a new connection says of the clock. Resolves when this process agrees with the store's time. */
  begin(facts: Reply | undefined, sentMs: number, setClock: SetClock): Promise<void>;
  /** Returns the call with a disagreement resolved and the call repeated, within the time of one call. */
  guard(call: Call, setClock: SetClock): Call;
  /** What a person should know of the clocks; null where all is well. */
  warning(): string | null;
};

type StoreClockDeps = {
  readonly clock: Clock;
  readonly log: Log;
  /** Whether the clock of Redis is believed at the start, whatever this host's says. */
  readonly isRedisTrusted: boolean;
  /** The wall clock of this host, epoch milliseconds. */
  readonly wallMs: () => number;
};

/** A gateway that runs sweeps at least twice in this time. */
const LISTEN_MS = 750;
/** A disagreement is resolved by the first look, or by the one after another process was faster. */
const LOOKS_MAX = 4;
/** A call that began earlier than this is not repeated: its caller is about to give up. */
const REPEAT_WITHIN_MS = 3_000;

/** Creates it for one process; it outlives connections. */
export function createStoreClock(deps: StoreClockDeps): StoreClock {
  const { clock, log, isRedisTrusted, wallMs } = deps;
  const time = createStoreTime(clock);
  let last: ClockFacts | null = null;
  let resolving: Promise<void> | null = null;
  let adding: Promise<void> | null = null;

  function note(facts: ClockFacts): void {
    if (facts.offsetNumber !== (last?.offsetNumber ?? 0) || facts.offsetMs !== (last?.offsetMs ?? 0))
      log.warn(
        { offsetMs: facts.offsetMs, wasOffsetMs: last?.offsetMs ?? 0, isTimeLeftOut: facts.isTimeLeftOut },
        'the clock of Redis is not the time of the store: it stepped, or was wrong when all gateways started; ' +
          'the time of the store goes on without the difference (offsetMs)',
      );
    last = facts;
  }

  async function set(facts: ClockFacts, to: ClockSetting, setClock: SetClock): Promise<Looked> {
    const args = [facts.offsetNumber, to.offsetMs, to.isTimeLeftOut ? 1 : 0].map(String);
    return await lookAt(clock, setClock, args);
  }

  /** Resolves when this process and the store agree. */
  async function resolveDisagreement(seen: Looked, setClock: SetClock): Promise<void> {
    let looked = seen;
    for (let looks = 0; looks < LOOKS_MAX; looks += 1) {
      const { facts, sample } = looked;
      const stepMs = time.measureStep(sample);
      if (stepMs === 0) {
        time.learn(sample);
        return note(facts);
      }
      const latestMs = time.bounds()?.latestMs ?? 0;
      const cause = classifyDisagreement(facts, { latestMs, offsetNumber: last?.offsetNumber ?? 0 });
      if (cause !== 'redis_stepped') {
        if (cause === 'own_clock_stood_still')
          log.warn(
            { stepMs },
            'the monotonic clock of this host stood still, or ran wrong; other gateways agree',
          );
        time.relearn(sample);
        return note(facts);
      }
      const { isTimeLeftOut } = facts;
      looked = await set(facts, { offsetMs: facts.offsetMs - stepMs, isTimeLeftOut }, setClock);
    }
    throw new StoreUnavailable('The clock of Redis changes all the time.');
  }

  async function start(seen: Looked, setClock: SetClock): Promise<void> {
    let looked = seen;
    if (!checkTimeGoesOn(looked.facts)) {
      await clock.sleep(LISTEN_MS);
      looked = await lookAt(clock, setClock, ['']);
    }
    const { facts } = looked;
    if (!checkTimeGoesOn(facts)) {
      const to = decideStart(facts, wallMs(), isRedisTrusted);
      if (to.offsetMs !== facts.offsetMs || to.isTimeLeftOut !== facts.isTimeLeftOut)
        looked = await set(facts, to, setClock);
    }
    time.learn(looked.sample);
    note(looked.facts);
  }

  /** Adds the time that was left out at the start, where the clocks agree by now. */
  async function addTimeLeftOut(facts: ClockFacts, setClock: SetClock): Promise<void> {
    // Where TIME is behind, the time of the store cannot run back to it.
    const offsetMs = Math.max(0, facts.offsetMs);
    const added = await set(facts, { offsetMs, isTimeLeftOut: false }, setClock);
    time.relearn(added.sample);
    note(added.facts);
  }

  return {
    nowMs: time.nowMs,
    argument() {
      const bounds = time.bounds();
      return bounds ? `${bounds.earliestMs} ${bounds.latestMs}` : '';
    },
    learn(reply, sentMs, setClock) {
      const { facts, sample } = readLook(reply, sentMs);
      time.learn(sample);
      note(facts);
      if (!facts.isTimeLeftOut || !(isRedisTrusted || checkHostsAgree(facts, wallMs()))) return;
      adding ??= addTimeLeftOut(facts, setClock)
        .catch((error: unknown) => log.debug({ err: error }, 'the time that was left out was not added yet'))
        .finally(() => {
          adding = null;
        });
    },
    async begin(reply, sentMs, setClock) {
      const looked = readLook(reply, sentMs);
      await (time.bounds() ? resolveDisagreement(looked, setClock) : start(looked, setClock));
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
          resolving ??= resolveDisagreement(readLook(error.facts, sentMs), setClock).finally(() => {
            resolving = null;
          });
          await resolving;
        }
      }
    },
    warning: () => (last ? describe(last, wallMs()) : null),
  };
}

/** What a look at the clock returned, just now. */
type Looked = {
  readonly facts: ClockFacts;
  readonly sample: { readonly storeMs: number; readonly sentMs: number };
};

function readLook(reply: Reply | undefined, sentMs: number): Looked {
  const facts = parseClockFacts(String(reply));
  return { facts, sample: { storeMs: storeMsOf(facts), sentMs } };
}

async function lookAt(clock: Clock, setClock: SetClock, args: readonly string[]): Promise<Looked> {
  const sentMs = clock.monotonicMs();
  return readLook(await setClock(args), sentMs);
}

function describe(facts: ClockFacts, wallMs: number): string | null {
  const { offsetMs, isTimeLeftOut, redisMs } = facts;
  if (isTimeLeftOut) {
    const apart = Math.round(Math.abs(redisMs - wallMs) / 1_000);
    return (
      `the clocks of Redis and of this host were ${apart} s apart, so the time in which no gateway ran does ` +
      'not count: set both clocks right, or set STORE_CLOCK=trust to believe that of Redis'
    );
  }
  if (Math.abs(offsetMs) < CLOCK_STEP_MS) return null;
  const seconds = Math.round(Math.abs(offsetMs) / 1_000);
  const side = offsetMs < 0 ? 'ahead of' : 'behind';
  return `the clock of Redis is ${seconds} s ${side} the time of the store, which goes on without the difference`;
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
