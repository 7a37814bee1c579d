/**
 * Brings this process and the store to agree about the store's time: at the start, after a disagreement, and
 * when the time between two runs can be added after all. `store-clock.ts` says when; `clock-decisions.ts`
 * says how.
 */
import type { Clock } from '../../../ports/clock.ts';
import type { Log } from '../../../ports/log.ts';
import { StoreUnavailable } from '../../../ports/store.ts';
import type { Reply } from '../client/client.ts';
import {
  type ClockReading,
  type ClockSetting,
  checkHostsAgree,
  checkTimeGoesOn,
  classifyDisagreement,
  decideStart,
  parseClockReading,
  storeMsOf,
} from './clock-decisions.ts';
import type { Sample, StoreTime } from './store-time.ts';

/** Runs `scripts/set_clock.lua`; resolves with what the store knows of the clock after it. */
export type SetClock = (args: readonly string[]) => Promise<Reply>;

/** The result of a look at the clock, just now. */
export type Looked = { readonly reading: ClockReading; readonly sample: Sample };

/** Reads the reply about the clock to a call of `sentMs` (monotonic). */
export function readLook(reply: Reply | undefined, sentMs: number): Looked {
  const reading = parseClockReading(String(reply));
  return { reading, sample: { storeMs: storeMsOf(reading), sentMs } };
}

export type ClockAgreementDeps = {
  readonly clock: Clock;
  readonly log: Log;
  /** The wall clock of this host, epoch milliseconds. */
  readonly wallMs: () => number;
};

export type ClockAgreement = {
  /** The last reading that `note` took; null before the first. */
  last(): ClockReading | null;
  /** Takes a reading with which this process agrees; logs when the offset has changed. */
  note(reading: ClockReading): void;
  /** Resolves when this process and the store agree about the time of the store. */
  resolve(seen: Looked, setClock: SetClock): Promise<void>;
  /** The same for a process that knows no time yet. */
  start(seen: Looked, setClock: SetClock): Promise<void>;
  /** Adds the time left out at the start, if the clocks of Redis and of this host agree by now. */
  addTimeLeftOut(reading: ClockReading, setClock: SetClock): Promise<void>;
};

/** A gateway that runs sweeps at least twice in this time. */
const LISTEN_MS = 750;
/** A disagreement is resolved by the first look, or by the one after another process was faster. */
const LOOKS_MAX = 4;

/** Creates it for one process. */
export function createClockAgreement(deps: ClockAgreementDeps, time: StoreTime): ClockAgreement {
  const { clock, log, wallMs } = deps;
  let last: ClockReading | null = null;

  async function look(setClock: SetClock, args: readonly string[]): Promise<Looked> {
    const sentMs = clock.monotonicMs();
    return readLook(await setClock(args), sentMs);
  }

  async function set(reading: ClockReading, to: ClockSetting, setClock: SetClock): Promise<Looked> {
    return await look(setClock, [reading.offsetNumber, to.offsetMs, to.isTimeLeftOut ? 1 : 0].map(String));
  }

  function note(reading: ClockReading): void {
    const { offsetMs, isTimeLeftOut } = reading;
    const wasOffsetMs = last?.offsetMs ?? 0;
    if (offsetMs !== wasOffsetMs) log.warn({ offsetMs, wasOffsetMs, isTimeLeftOut }, OFFSET_CHANGED);
    last = reading;
  }

  function learnAnew({ reading, sample }: Looked): void {
    time.relearn(sample);
    note(reading);
  }

  return {
    last: () => last,
    note,
    async resolve(seen, setClock) {
      let looked = seen;
      for (let looks = 0; looks < LOOKS_MAX; looks += 1) {
        const { reading, sample } = looked;
        const stepMs = time.measureStep(sample);
        if (stepMs === 0) {
          time.learn(sample);
          return note(reading);
        }
        const latestMs = time.bounds()?.latestMs ?? 0;
        const cause = classifyDisagreement(reading, { latestMs, offsetNumber: last?.offsetNumber ?? 0 });
        if (cause === 'own_clock_stood_still') log.warn({ stepMs }, OWN_CLOCK_STOOD_STILL);
        if (cause !== 'redis_stepped') return learnAnew(looked);
        const { isTimeLeftOut } = reading;
        looked = await set(reading, { offsetMs: reading.offsetMs - stepMs, isTimeLeftOut }, setClock);
      }
      throw new StoreUnavailable('The clock of Redis changes all the time.');
    },

    async start(seen, setClock) {
      let looked = seen;
      if (!checkTimeGoesOn(looked.reading)) {
        await clock.sleep(LISTEN_MS);
        looked = await look(setClock, ['']);
      }
      const { reading } = looked;
      if (!checkTimeGoesOn(reading)) {
        const to = decideStart(reading, wallMs());
        const isSet = to.offsetMs === reading.offsetMs && to.isTimeLeftOut === reading.isTimeLeftOut;
        if (!isSet) looked = await set(reading, to, setClock);
      }
      learnAnew(looked);
    },

    async addTimeLeftOut(reading, setClock) {
      if (!reading.isTimeLeftOut || !checkHostsAgree(reading, wallMs())) return;
      // If TIME is behind, the time of the store cannot run back to it.
      const offsetMs = Math.max(0, reading.offsetMs);
      learnAnew(await set(reading, { offsetMs, isTimeLeftOut: false }, setClock));
    },
  };
}

const OFFSET_CHANGED =
  'the clock of Redis is not the time of the store: it stepped, or was wrong when all gateways started; ' +
  'the time of the store goes on without the difference (offsetMs)';
const OWN_CLOCK_STOOD_STILL =
  'the monotonic clock of this host stood still, or ran wrong: the other gateways agree about another time';
