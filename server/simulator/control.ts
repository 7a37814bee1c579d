/**
 * The simulator's own paths, under `/__sim/` of each world, as `spec/simulator-service.tsp` describes them.
 * The gateway has none of them.
 */
import type { Agents } from './agent-script.ts';
import type { Given, Operations, Schemas } from './document.ts';
import type { Faults } from './fault.ts';
import { requireValid, SIMULATOR_DOCUMENT, WrongValue } from './given-values.ts';
import { WorldBusy, type WorldClock } from './moving-time.ts';
import { SimulatorProblem } from './problem-responses.ts';

export const CONTROL_ROOT = '/__sim/';
/** The path of the document that describes these paths. */
const DOCUMENT_PATH = `${CONTROL_ROOT}openapi.json`;

/** The part of a world that the paths read and change. */
type World = {
  readonly clock: WorldClock;
  readonly agents: Agents;
  readonly faults: Faults;
  transcript(): string;
  reset(): Promise<void>;
};

type Asked = {
  readonly world: World;
  /** The id in the path. */
  readonly id: string;
  /** The JSON of the body; an empty object if there is no body. */
  readonly body: Readonly<Record<string, unknown>>;
};

type OperationName = keyof Operations;
/** Returns the JSON of the response, or a response of another type. */
type Handle<Name extends OperationName> = (asked: Asked) => Promise<ReplyTo<Name>> | ReplyTo<Name>;
type ReplyTo<Name extends OperationName> = Operations[Name]['responses'] extends {
  readonly 200: { readonly content: { readonly 'application/json': infer Body } };
}
  ? Given<Body>
  : Response;

/** Responds to a request under `/__sim/`; rejects with a `SimulatorProblem`. */
export type Control = (world: World, request: Request, path: string) => Promise<Response>;

/** Creates the paths. `listWorlds` returns the names of all worlds. */
export function createControl(listWorlds: () => readonly string[]): Control {
  const handlers: { readonly [Name in OperationName]: Handle<Name> } = {
    readClock: ({ world }) => ({ now: world.clock.now() }),
    async advanceClock({ world, body }) {
      requireValid('Advance', body);
      return { now: await world.clock.advance((body as Schemas['Advance']).seconds) };
    },
    jumpClock: async ({ world }) => ({ now: await world.clock.auto() }),
    listScripts: ({ world }) => ({ agents: world.agents.list() }),
    addScript: ({ world, body }) => world.agents.add(body as Schemas['AgentScript']),
    removeScript: async ({ world, id }) => respondFound(await world.agents.remove(id)),
    listFaults: ({ world }) => ({ faults: world.faults.list() }),
    addFault: ({ world, body }) => world.faults.add(body as Schemas['Fault']),
    removeFault: ({ world, id }) => respondFound(world.faults.remove(id)),
    readTranscript: ({ world }) =>
      new Response(world.transcript(), { headers: { 'content-type': 'application/x-ndjson' } }),
    listWorlds: () => ({ worlds: listWorlds() }),
    async resetWorld({ world }) {
      await world.reset();
      return new Response(null, { status: 204 });
    },
  };

  return async (world, request, path) => {
    if (path === DOCUMENT_PATH) return respond(SIMULATOR_DOCUMENT);
    const { name, id } = findRoute(request.method, path);
    const body = await readBody(request);
    try {
      const reply = await handlers[name]({ world, id, body });
      return reply instanceof Response ? reply : respond(reply);
    } catch (error) {
      if (error instanceof WorldBusy) throw new SimulatorProblem('world_busy', error.message);
      if (error instanceof WrongValue)
        throw new SimulatorProblem('validation_failed', error.message, error.errors);
      if (error instanceof TypeError) throw new SimulatorProblem('validation_failed', error.message);
      throw error;
    }
  };
}

type Route = { readonly name: OperationName; readonly method: string; readonly path: string };

const ROUTES: readonly Route[] = Object.entries(SIMULATOR_DOCUMENT.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, { operationId }]) => ({
    name: operationId as OperationName,
    method: method.toUpperCase(),
    path,
  })),
);

/** Finds the operation of a request, and the id in its path. Throws a `SimulatorProblem` if there is none. */
function findRoute(method: string, path: string): { readonly name: OperationName; readonly id: string } {
  const found = ROUTES.flatMap((route) => {
    const match = new RegExp(`^${route.path.replace(/\{\w+\}/, '([^/]+)')}$`).exec(path);
    return match ? [{ route, id: match[1] ?? '' }] : [];
  });
  const one = found.find(({ route }) => route.method === method);
  if (one) return { name: one.route.name, id: decodeId(one.id) };
  const methods = found.map(({ route }) => route.method);
  if (methods.length > 0) throw new SimulatorProblem('method_not_allowed', `Send ${methods.join(' or ')}.`);
  const all = ROUTES.map((route) => `${route.method} ${route.path}`).join(', ');
  throw new SimulatorProblem('not_found', `There is nothing at this path. There are ${all}.`);
}

function decodeId(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw notFound();
  }
}

function respond(body: object): Response {
  return new Response(JSON.stringify(body), { headers: { 'content-type': 'application/json' } });
}

function respondFound(wasThere: boolean): Response {
  if (wasThere) return new Response(null, { status: 204 });
  throw notFound();
}

function notFound(): SimulatorProblem {
  return new SimulatorProblem(
    'not_found',
    'There is none of this id. GET the list to see those that there are.',
  );
}

async function readBody(request: Request): Promise<Asked['body']> {
  const text = await request.text();
  if (text === '') return {};
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Asked['body'];
  } catch {
    // The error below also covers a text that is no JSON.
  }
  throw new SimulatorProblem('malformed_body', 'The body is not a JSON object.');
}
