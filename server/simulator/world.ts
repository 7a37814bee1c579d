/**
 * One world: the gateway's own parts on the plain store, with a virtual clock, and ids and random numbers
 * from a seed. Its first call opens it; until then it costs nothing.
 *
 *   Request ──► answer-requests ──► http/app ───► gateway ──► plain store     clock: stands still
 *                    ▲                  ▲             │                        random: the seed
 *                    │                faults        pushes ──► scripted agents, handlers, fetch
 *                    ╰───────────────────────────────────────────╯
 */
import document from '@task-gateway/contract/openapi.whole.json' with { type: 'json' };
import { createLargeWork } from '../async/large-work.ts';
import { loadOnce } from '../async/load-once.ts';
import { FIXED_LIMITS } from '../config/fixed-limits.ts';
import { createPlainStore } from '../engines/plain/store.ts';
import { createGateway, type Duties } from '../gateway/gateway.ts';
import { API_LIMITS } from '../http/api.ts';
import { createApp } from '../http/app.ts';
import { createHostRule } from '../http/host-rule.ts';
import { type Contract, loadContract } from '../http/request/contract.ts';
import { createSecrets } from '../http/request/secrets.ts';
import { createStreams } from '../http/stream/sse.ts';
import type { Log } from '../ports/log.ts';
import type { Observer } from '../ports/observer.ts';
import { type Store, StoreUnavailable } from '../ports/store.ts';
import type { Agents, PushHandler } from './agent-script.ts';
import { type AnswerRequest, createAnswerRequest } from './answer-requests.ts';
import { createFaults, type FaultStage } from './faults.ts';
import { type CountedPusher, createWorldPusher } from './pushes.ts';
import { createCallApi } from './script-calls.ts';
import { type AgentStage, createAgents } from './scripted-agents.ts';
import { createSeededRandom, type SeededRandom } from './seeded-random.ts';
import { createTranscript, type Transcript } from './transcript.ts';
import {
  type Activity,
  createActivity,
  createVirtualClock,
  passShortPauses,
  type VirtualClock,
} from './virtual-clock.ts';

/** The settings of a world (`SimulatorOptions`). */
export type WorldSettings = {
  readonly seed: number;
  readonly startSeconds: number;
  readonly auth: string;
  readonly adminAuth: string;
  readonly pushSecrets: readonly string[];
  readonly corsOrigins: readonly string[];
  readonly isAgentAuthRequired: boolean;
  readonly openTasksMax: number;
  readonly agentsMax: number;
  readonly push: PushHandler;
};

/** A world, from its creation or reset to the next reset. */
export type RunningWorld = {
  readonly clock: VirtualClock;
  readonly random: () => number;
  readonly activity: Activity;
  readonly transcript: Transcript;
  readonly faults: FaultStage;
  readonly agents: Agents;
  /** The world's time, in seconds. */
  nowSeconds(): number;
  answer: AnswerRequest;
  /** How much work is under way that needs no time: requests, commits, pushes to handlers. */
  countOpen(): number;
  /** How many calls and streams are open. */
  waiting(): number;
  /** Opens the world unless it is open. */
  open(): Promise<OpenedWorld>;
  close(): Promise<void>;
};

type OpenedWorld = {
  readonly duties: Duties;
  readonly store: Store;
  readonly pusher: CountedPusher;
  readonly answer: AnswerRequest;
  readonly streamCount: () => number;
  /** Runs passes over due entries, one at a time. A call during a pass makes another pass follow. */
  dispatch(): void;
};

const SILENT: Log = { debug() {}, info() {}, warn() {}, error() {} };
const UNOBSERVED: Observer = {
  noteSubmitted() {},
  noteStep() {},
  noteAgent() {},
  notePush() {},
  noteCommit() {},
  noteRequest() {},
};
const PUSHES_MAX = 1_000;
/** The defaults of the gateway: tasks and events are kept for a day of the world's time. */
const RETENTION = { keepTasksMs: 24 * 3_600_000, sessionEventsMax: 1_000, outputBytesMax: 2 ** 28 } as const;

/** One contract for all worlds, because compiling its validators takes longer than a world. */
const contract = loadOnce<Contract>(() => loadContract(structuredClone(document)));

/** Creates a world. Its first call opens it. */
export function createWorld(settings: WorldSettings): RunningWorld {
  const activity = createActivity();
  const clock = createVirtualClock(activity.note);
  const { startSeconds } = settings;
  const nowSeconds = (): number => startSeconds + clock.monotonicMs() / 1_000;
  const seeded = createSeededRandom(settings.seed);
  const transcript = createTranscript(nowSeconds, [settings.auth, settings.adminAuth]);
  const faults = createFaults(clock);
  const closing = new AbortController();
  const agents = createAgents({ clock, call: createCallApi(settings.auth, answer), nowSeconds });
  const parts = { settings, clock, activity, transcript, faults, agents, seeded, closing: closing.signal };
  let opened: OpenedWorld | undefined;
  const load = loadOnce(async () => {
    opened = await openWorld(parts);
    return opened;
  });

  async function answer(...call: Parameters<AnswerRequest>): Promise<Response> {
    const opened = await load();
    return await activity.trackCall(opened.answer(...call));
  }

  return {
    clock,
    activity,
    transcript,
    faults,
    agents,
    nowSeconds,
    answer,
    random: seeded.random,
    open: load,
    countOpen: () => activity.open() + (opened?.pusher.outsideCount() ?? 0),
    waiting: () => activity.waiting() + (opened?.streamCount() ?? 0),
    async close() {
      closing.abort('closed');
      agents.stop();
      await opened?.store.close();
    },
  };
}

type WorldParts = Pick<RunningWorld, 'clock' | 'activity' | 'transcript' | 'faults'> & {
  readonly settings: WorldSettings;
  readonly agents: AgentStage;
  readonly seeded: SeededRandom;
  /** Fires when the world is closed. */
  readonly closing: AbortSignal;
};

/** Puts the gateway together from the parts of a world. */
async function openWorld(parts: WorldParts): Promise<OpenedWorld> {
  const { settings, clock, activity, transcript, faults, agents, seeded, closing } = parts;
  const wallMs = (): number => settings.startSeconds * 1_000 + clock.monotonicMs();
  const store = trackStore(faults.surroundStore(createPlainStore({ clock, wallMs })), activity);
  const pusher = createWorldPusher({
    clock,
    wallMs,
    transcript,
    activity,
    pushSecrets: settings.pushSecrets,
    createTraceparent: seeded.createTraceparent,
    findScripted: agents.findScripted,
    findHandler: (endpoint) => agents.findHandler(endpoint) ?? settings.push,
  });
  const gatewayClock = passShortPauses(clock);
  const largeWork = createLargeWork();
  const { gateway, duties } = createGateway({
    store,
    pusher,
    largeWork,
    clock: gatewayClock,
    ids: seeded.ids,
    random: seeded.random,
    log: SILENT,
    observer: UNOBSERVED,
    retention: RETENTION,
    keepPace: () => Promise.resolve(),
    limits: {
      ...FIXED_LIMITS,
      pushesMax: PUSHES_MAX,
      openTasksMax: settings.openTasksMax,
      agentsMax: settings.agentsMax,
    },
  });
  const { corsOrigins, isAgentAuthRequired } = settings;
  const streams = createStreams({ clock, random: seeded.random, log: SILENT, limits: API_LIMITS });
  const app = createApp({
    contract: await contract(),
    gateway,
    secrets: createSecrets({ gateway: [settings.auth], admin: [settings.adminAuth] }),
    limits: API_LIMITS,
    settings: { isAgentAuthRequired },
    hostRule: createHostRule({ isSecretPublic: false, allowedHosts: [], corsOrigins }),
    corsOrigins,
    trustedProxies: [],
    pages: [],
    clock: gatewayClock,
    log: SILENT,
    observer: UNOBSERVED,
    largeWork,
    streams,
    draining: closing,
    surroundings: faults.surroundings,
  });
  const dispatch = createDispatch(duties, activity);
  void watchDue(store, dispatch, closing);
  const answer = createAnswerRequest({ listener: app.callback(), transcript, activity });
  return { duties, store, pusher, answer, streamCount: streams.count, dispatch };
}

/** Wraps the store so that the world waits for its calls. */
function trackStore(store: Store, { track }: Activity): Store {
  return new Proxy(store, {
    get(target, name: keyof Store) {
      const own = target[name];
      if (name === 'nowMs' || name === 'feed' || name === 'watch' || name === 'health') return own;
      return (...values: never[]) => track((own as (...values: never[]) => Promise<unknown>)(...values));
    },
  });
}

/**
 * Creates `dispatch()`. If the store is out, the next pass tries again. Other errors are defects and are
 * thrown.
 */
function createDispatch(duties: Duties, activity: Activity): () => void {
  let isRunning = false;
  let isAsked = false;
  return () => {
    isAsked = true;
    if (isRunning) return;
    isRunning = true;
    void (async () => {
      while (isAsked) {
        isAsked = false;
        try {
          while ((await duties.runDuePass()) > 0) activity.noteDue();
        } catch (error) {
          if (!(error instanceof StoreUnavailable)) throw error;
        }
      }
      isRunning = false;
    })();
  };
}

async function watchDue(store: Store, dispatch: () => void, signal: AbortSignal): Promise<void> {
  for await (const _notification of store.watch('due', signal)) dispatch();
}
