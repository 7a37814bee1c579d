/**
 * `createSimulator()`: a gateway in a variable. It is the gateway's own code; its time stands still until the
 * test moves it, and its agents and faults do as the test says.
 *
 *   const world = createSimulator();
 *   const client = createClient({ ...world.options });
 *   await world.agents.add({ tags: ['pdf'], does: 'die', after: 30 });
 *   const run = client.runTask({ task_type: 't', task_tags: ['pdf'], payload: {} });
 *   await world.clock.advance(600);
 *
 * One simulator has any number of worlds, which know nothing of each other: itself, and those by a name.
 */
import type { Agents, PushHandler } from './agent-script.ts';
import { CONTROL_ROOT, createControl } from './control.ts';
import type { Faults } from './fault.ts';
import { NoResponse } from './faults.ts';
import type { WorldClock } from './moving-time.ts';
import { createProblem, SimulatorProblem } from './problem-responses.ts';
import { createWorld, type WorldSettings } from './world.ts';
import { createWorldClock } from './world-clock.ts';

export type SimulatorOptions = {
  /** A whole number, from which ids and random numbers follow. Default 1. */
  readonly seed?: number | undefined;
  /** The time at which a world begins, in seconds since the Unix epoch. Default: the year 2026. */
  readonly startTime?: number | undefined;
  /** The gateway secret. Default `simulator-secret`. */
  readonly auth?: string | undefined;
  /** The administrator's secret. Default `simulator-admin-secret`. */
  readonly adminAuth?: string | undefined;
  /** Secrets that sign pushes, the newest first. Default: they are not signed. */
  readonly pushSecrets?: readonly string[] | undefined;
  /** Origins of web pages that may call, as the gateway's CORS_ORIGINS. Default: none. */
  readonly corsOrigins?: readonly string[] | undefined;
  /** Whether agents must send the secret with every call. Default: no. */
  readonly agentAuthRequired?: boolean | undefined;
  /** As the gateway's OPEN_TASKS_MAX. Default 100,000. */
  readonly openTasksMax?: number | undefined;
  /** As the gateway's AGENTS_MAX. Default 10,000. */
  readonly agentsMax?: number | undefined;
  /** Most worlds by a name. Default 10,000. */
  readonly worldsMax?: number | undefined;
  /** Takes the pushes that no scripted agent and no handler takes. Default: the platform's `fetch`. */
  readonly push?: PushHandler | undefined;
  /** The address in `options`. Default `http://simulator.test`. */
  readonly baseUrl?: string | undefined;
};

/** A gateway by itself: tasks, agents, time, faults. */
export type World = {
  /** The options with which clients and agents of the SDK reach it. Their time is the world's. */
  readonly options: {
    readonly baseUrl: string;
    readonly auth: string;
    readonly fetch: (request: Request, init?: RequestInit) => Promise<Response>;
    readonly clock: WorldClock;
    readonly logLevel: 'off';
  };
  /** The administrator's secret. */
  readonly adminAuth: string;
  readonly clock: WorldClock;
  readonly agents: Agents;
  readonly faults: Faults;
  /** Everything that went over the wire, as lines of JSON, without secrets. */
  transcript(): string;
  /** Begins again as it was created: the same seed and time, without tasks, agents, faults and transcript. */
  reset(): Promise<void>;
};

export type Simulator = World & {
  /**
   * Responds to a request to any of the worlds, or to `/__sim/`, as a `fetch` of the platform would: it
   * resolves with a 4xx too. Rejects if the caller aborts, or if a fault takes the response away.
   */
  fetch(request: Request, init?: RequestInit): Promise<Response>;
  /** The world of this name; it is created by its first use. */
  world(name: string): World;
  /** The names that worlds were created by. */
  worldNames(): readonly string[];
};

/** The world without a name, and the prefix of the others: `/worlds/{name}/api/…`. */
const WORLD_PATH = /^\/worlds\/([^/]+)(\/.*)$/;
const START_SECONDS = 1_767_225_600;
/** A name of a world stands in a path. */
const WORLD_NAME = /^[\w.-]{1,64}$/;
/** Beside the one without a name. A world stays until the simulator is gone. */
const WORLDS_MAX = 10_000;
const WRONG_NAME = 'The name of a world has 1 to 64 letters, digits, points, dashes and underlines.';

/** Creates it. Nothing is opened before the first call. Throws if there is no such option. */
export function createSimulator(options: SimulatorOptions = {}): Simulator {
  const worlds = new Map<string, KeptWorld>();
  const { baseUrl = 'http://simulator.test', worldsMax = WORLDS_MAX } = options;
  const settings: WorldSettings = {
    seed: options.seed ?? 1,
    startSeconds: options.startTime ?? START_SECONDS,
    auth: options.auth ?? 'simulator-secret',
    adminAuth: options.adminAuth ?? 'simulator-admin-secret',
    pushSecrets: options.pushSecrets ?? [],
    corsOrigins: options.corsOrigins ?? [],
    isAgentAuthRequired: options.agentAuthRequired ?? false,
    openTasksMax: options.openTasksMax ?? 100_000,
    agentsMax: options.agentsMax ?? 10_000,
    push: options.push ?? ((request) => globalThis.fetch(request)),
  };

  function find(name: string): KeptWorld {
    const known = worlds.get(name);
    if (known) return known;
    if (name !== '' && !WORLD_NAME.test(name)) {
      throw new SimulatorProblem('world_not_found', WRONG_NAME);
    }
    if (worlds.size > worldsMax) {
      throw new SimulatorProblem(
        'too_many_worlds',
        `There are ${worldsMax} worlds. Reset one, and use it again.`,
      );
    }
    const created = keepWorld(settings, name === '' ? baseUrl : `${baseUrl}/worlds/${name}`, fetch);
    worlds.set(name, created);
    return created;
  }

  async function fetch(request: Request, init?: RequestInit): Promise<Response> {
    const { pathname } = new URL(request.url);
    const [, name = '', path = pathname] = WORLD_PATH.exec(pathname) ?? [];
    const signal = init?.signal ?? request.signal;
    requestOf.set(signal, request);
    try {
      const world = find(name);
      if (path.startsWith(CONTROL_ROOT)) return await control(world, request, path);
      return await world.answer(request, path, signal);
    } catch (error) {
      if (error instanceof SimulatorProblem) return createProblem(error);
      if (signal.aborted || error instanceof NoResponse) throw error;
      // A defect of the simulator: the world stays as it is, with its transcript.
      return createProblem(new SimulatorProblem('world_threw', String(error)));
    }
  }

  const worldNames = (): readonly string[] => [...worlds.keys()].filter((name) => name !== '');
  const control = createControl(worldNames);
  return Object.assign(find(''), {
    fetch,
    world: find,
    worldNames,
  });
}

/**
 * Keeps a request as long as its signal is listened to: the signal of a request that is collected as garbage
 * does not fire any more when the caller leaves.
 */
const requestOf = new WeakMap<AbortSignal, Request>();

/** A world as the simulator keeps it: what runs changes with each reset. */
type KeptWorld = World & {
  answer(request: Request, path: string, signal: AbortSignal): Promise<Response>;
};

function keepWorld(settings: WorldSettings, baseUrl: string, fetch: Simulator['fetch']): KeptWorld {
  let running = createWorld(settings);
  const clock = createWorldClock(() => running);
  const { auth, adminAuth } = settings;
  return {
    options: { baseUrl, auth, fetch, clock, logLevel: 'off' },
    adminAuth,
    clock,
    get agents() {
      return running.agents;
    },
    get faults() {
      return running.faults;
    },
    transcript: () => running.transcript.text(),
    async reset() {
      const before = running;
      running = createWorld(settings);
      await before.close();
    },
    answer: (...call) => running.answer(...call),
  };
}
