/**
 * `createSimulator()`: a gateway in a variable. It runs the gateway's own code. Its time stands still until
 * the test moves it, and its agents and faults do what the test says.
 *
 *   const world = createSimulator();
 *   const client = createClient({ ...world.options });
 *   await world.agents.add({ tags: ['pdf'], does: 'die', after: 30 });
 *   const run = client.runTask({ task_type: 't', task_tags: ['pdf'], payload: {} });
 *   await world.clock.advance(600);
 *
 * A simulator has any number of worlds, which share nothing: the simulator itself, and others by name.
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
  /** The time at which a world begins, in seconds since the Unix epoch. Default: the beginning of 2026. */
  readonly startTime?: number | undefined;
  /** The gateway secret. Default `simulator-secret`. */
  readonly auth?: string | undefined;
  /** The administrator's secret. Default `simulator-admin-secret`. */
  readonly adminAuth?: string | undefined;
  /** Secrets that sign pushes, the newest first. Default: none, so pushes are not signed. */
  readonly pushSecrets?: readonly string[] | undefined;
  /** Origins of web pages that may call, like the gateway's CORS_ORIGINS. Default: none. */
  readonly corsOrigins?: readonly string[] | undefined;
  /** Whether agents must send the secret with every call. Default: no. */
  readonly agentAuthRequired?: boolean | undefined;
  /** Like the gateway's OPEN_TASKS_MAX. Default 100,000. */
  readonly openTasksMax?: number | undefined;
  /** Like the gateway's AGENTS_MAX. Default 10,000. */
  readonly agentsMax?: number | undefined;
  /** The most worlds with a name. Default 10,000. */
  readonly worldsMax?: number | undefined;
  /**
   * Takes the pushes for which there is no scripted agent and no handler. Default: the platform's `fetch`.
   */
  readonly push?: PushHandler | undefined;
  /** The address in `options`. Default `http://simulator.test`. */
  readonly baseUrl?: string | undefined;
};

/** A gateway by itself: tasks, agents, time, faults. */
export type World = {
  /** The options with which clients and agents of the SDK call this world and use its time. */
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
  /** Starts again with the same seed and time, without tasks, agents, faults and transcript. */
  reset(): Promise<void>;
};

export type Simulator = World & {
  /**
   * Responds to a request to any world or to `/__sim/`, like the platform's `fetch`: a 4xx resolves too.
   * Rejects if the caller aborts, or if a fault takes the response away.
   */
  fetch(request: Request, init?: RequestInit): Promise<Response>;
  /** Returns the world of this name. Its first use creates it. */
  world(name: string): World;
  /** The names of all worlds that were created. */
  worldNames(): readonly string[];
};

/** The path of a world with a name: `/worlds/{name}/api/…`. */
const WORLD_PATH = /^\/worlds\/([^/]+)(\/.*)$/;
const START_SECONDS = 1_767_225_600;
/** The form of a name, which is part of a path. */
const WORLD_NAME = /^[\w.-]{1,64}$/;
/** The most worlds with a name. A world stays as long as the simulator. */
const WORLDS_MAX = 10_000;
const WRONG_NAME = 'The name of a world has 1 to 64 letters, digits, points, dashes and underlines.';

/** Creates a simulator. It opens nothing before the first call. Throws for an unknown option. */
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
      // A defect of the simulator. The world stays as it is, with its transcript.
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
 * Keeps each request as long as its signal. A request that is collected as garbage would no longer fire its
 * signal when the caller leaves.
 */
const requestOf = new WeakMap<AbortSignal, Request>();

/** A world as the simulator keeps it. Each reset replaces what runs inside. */
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
