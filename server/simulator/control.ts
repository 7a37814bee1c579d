/**
 * The simulator's own paths, under `/__sim/` of each world. The gateway has none of them.
 *
 *   GET  clock   POST clock/advance {seconds}   POST clock/auto
 *   GET  agents  POST agents {tags, does, …}    DELETE agents/{agent_id}
 *   GET  faults  POST faults {fault, …}         DELETE faults/{id}
 *   GET  transcript   GET worlds   POST reset
 */
import type { AgentScript, Agents } from './agent-script.ts';
import type { Fault, Faults } from './fault.ts';
import { WorldBusy, type WorldClock } from './moving-time.ts';
import { SimulatorProblem } from './problem-responses.ts';

/** Where the paths begin. */
export const CONTROL_ROOT = '/__sim/';

/** The part of a world that the paths read and change. */
type World = {
  readonly clock: WorldClock;
  readonly agents: Agents;
  readonly faults: Faults;
  transcript(): string;
  reset(): Promise<void>;
};

/** A request to one of the paths. */
type Asked = {
  readonly world: World;
  /** The part of the path behind the name: an id. */
  readonly id: string;
  /** The JSON of the body; an empty object without one. */
  readonly body: Readonly<Record<string, unknown>>;
};

type Handle = (asked: Asked) => Response | Promise<Response>;

/** Responds to a request under `/__sim/`; rejects with a `SimulatorProblem`. */
export type Control = (world: World, request: Request, path: string) => Promise<Response>;

/** Creates it; `listWorlds` returns the names of all worlds. */
export function createControl(listWorlds: () => readonly string[]): Control {
  const routes: Readonly<Record<string, Handle>> = {
    'GET clock': ({ world }) => respond({ now: world.clock.now() }),
    'POST clock/advance': async ({ world, body: { seconds } }) => {
      if (typeof seconds !== 'number') throw new TypeError('`seconds` must be a number: {"seconds": 60}.');
      return respond({ now: await world.clock.advance(seconds) });
    },
    'POST clock/auto': async ({ world }) => respond({ now: await world.clock.auto() }),
    'GET agents': ({ world }) => respond({ agents: world.agents.list() }),
    'POST agents': async ({ world, body }) => {
      if (!Array.isArray(body.tags))
        throw new TypeError('`tags` must be a list of texts: {"tags": ["pdf"]}.');
      return respond(await world.agents.add(body as unknown as AgentScript));
    },
    'DELETE agents/': async ({ world, id }) => respondFound(await world.agents.remove(id)),
    'GET faults': ({ world }) => respond({ faults: world.faults.list() }),
    'POST faults': ({ world, body }) => respond(world.faults.add(body as unknown as Fault)),
    'DELETE faults/': ({ world, id }) => respondFound(world.faults.remove(id)),
    'GET transcript': ({ world }) =>
      new Response(world.transcript(), { headers: { 'content-type': 'application/x-ndjson' } }),
    'GET worlds': () => respond({ worlds: listWorlds() }),
    'POST reset': async ({ world }) => {
      await world.reset();
      return new Response(null, { status: 204 });
    },
  };

  return async (world, request, path) => {
    const name = path.slice(CONTROL_ROOT.length);
    const [, folder = '', id = ''] = /^((?:agents|faults)\/)(.+)$/.exec(name) ?? [];
    const handle = routes[`${request.method} ${folder === '' ? name : folder}`];
    if (!handle) throw describeUnknown(Object.keys(routes), folder === '' ? name : folder);
    const body = await readBody(request);
    try {
      return await handle({ world, id: decodeURIComponent(id), body });
    } catch (error) {
      if (error instanceof WorldBusy) throw new SimulatorProblem('world_busy', error.message);
      if (error instanceof TypeError || error instanceof RangeError) {
        throw new SimulatorProblem('validation_failed', error.message);
      }
      throw error;
    }
  };
}

function respond(body: object): Response {
  return new Response(JSON.stringify(body), { headers: { 'content-type': 'application/json' } });
}

function respondFound(wasThere: boolean): Response {
  if (wasThere) return new Response(null, { status: 204 });
  throw new SimulatorProblem(
    'not_found',
    'There is none of this id. GET the list to see those that there are.',
  );
}

function describeUnknown(known: readonly string[], name: string): SimulatorProblem {
  const methods = known.filter((one) => one.split(' ')[1] === name).map((one) => one.split(' ')[0]);
  if (methods.length > 0) return new SimulatorProblem('method_not_allowed', `Send ${methods.join(' or ')}.`);
  return new SimulatorProblem('not_found', `There is nothing at this path. There are ${known.join(', ')}.`);
}

async function readBody(request: Request): Promise<Asked['body']> {
  const text = await request.text();
  if (text === '') return {};
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Asked['body'];
  } catch {
    // Said below.
  }
  throw new SimulatorProblem('malformed_body', 'The body is not a JSON object.');
}
