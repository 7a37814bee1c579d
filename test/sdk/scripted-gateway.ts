/**
 * A gateway in memory for the tests of the agent: it records the registration and the reports, and has tasks
 * to claim.
 */
import { createScriptedFetch, json, type ScriptedFetch, type Sent } from './scripted-fetch.ts';
import { problem } from './scripted-server.ts';

export type ScriptedGateway = {
  readonly fetch: ScriptedFetch;
  /** The last registration; undefined while the agent is unknown. */
  registration: Record<string, unknown> | undefined;
  /** The tasks that the next claims return. */
  readonly claimable: Record<string, unknown>[];
  /** The agent's state, which every response says that has it. */
  state: string;
  /** Whether registrations replace one with a contact of late, and heartbeats name a replaced one. */
  isReplaced: boolean;
  /** The cancelled tasks, named in every response that can name them. */
  readonly cancelled: string[];
  /** Returns the response to a report, while it is set. */
  respondToReport:
    | ((report: Record<string, unknown>) => Response | Promise<Response> | undefined)
    | undefined;
  /** Returns the response to a write, while it is set; null: it is stored, and no response comes. */
  respondToWrite:
    | ((write: Record<string, unknown>) => Response | Promise<Response> | null | undefined)
    | undefined;
  /** The pieces that are stored, and how many each writer has stored. */
  readonly pieces: Record<string, unknown>[];
  readonly written: Map<string, number>;
  /** The answers to questions by their keys; without one a claim gets 204 at once. */
  readonly answers: Map<unknown, unknown>;
  /** Returns the response to a claim of an answer, while it is set. */
  respondToClaim: ((claim: Record<string, unknown>) => Response | undefined) | undefined;
  /** The response to all requests, while it is set. */
  outage: Response | undefined;
  /** Wakes the waiting claims. */
  wake(): void;
  /** Returns the bodies sent to an operation, such as `heartbeat`. */
  bodies(operation: string): readonly Record<string, unknown>[];
  /** The outcomes that were reported and accepted, by task. */
  readonly outcomes: Map<string, Record<string, unknown>>;
};

/** Creates the gateway. Its responses follow the contract. */
export function createScriptedGateway(): ScriptedGateway {
  const waiting = new Set<() => void>();
  const fetch = createScriptedFetch((sent) => gateway.outage?.clone() ?? respond(sent));

  function respond(sent: Sent): Response | Promise<Response> {
    const operation = sent.url.pathname.replace('/api/agent/', '');
    const body = sent.body ?? {};
    if (body.auth !== 'a-good-secret') return json(problem(401, 'unauthorized'), 401);
    if (operation === 'register') {
      gateway.registration = body;
      return json({ ...receipt(body), registration: 'r1', heartbeat_interval: 15, offline_after: 90 });
    }
    if (!gateway.registration) return json(problem(404, 'agent_not_found'), 404);
    if (operation === 'heartbeat') return json(receipt(body));
    if (operation === 'claim') return claim();
    if (operation === 'result') return gateway.respondToReport?.(body) ?? report(body);
    if (operation === 'output') return write(body);
    if (operation === 'answer') return gateway.respondToClaim?.(body) ?? claimAnswer(body);
    gateway.registration = undefined;
    return json({ ok: true, agent_id: body.agent_id });
  }

  function receipt({ agent_id }: Record<string, unknown>) {
    const { state, cancelled, isReplaced } = gateway;
    const replaced = isReplaced && { replaced: true };
    return { ok: true, agent_id, state, cancelled_request_ids: cancelled, ...replaced };
  }

  function report(body: Record<string, unknown>): Response {
    const { request_id, status } = body;
    const accepted = !gateway.outcomes.has(String(request_id));
    if (accepted && status !== 'running') gateway.outcomes.set(String(request_id), body);
    return json({ ok: true, request_id, status, accepted });
  }

  function write(body: Record<string, unknown>): Response | Promise<Response> {
    const response = gateway.respondToWrite?.(body);
    if (response) return response;
    const { request_id, writer, from, pieces } = body as {
      request_id: string;
      writer: string;
      from: number;
      pieces: Record<string, unknown>[];
    };
    const stored = gateway.written.get(writer) ?? 0;
    if (from > stored) return json(problem(422, 'validation_failed'), 422);
    gateway.pieces.push(...pieces.slice(stored - from));
    const next = Math.max(stored, from + pieces.length);
    gateway.written.set(writer, next);
    if (response === null) throw new TypeError('the connection was cut');
    return json({ ok: true, request_id, status: 'running', accepted: true, next });
  }

  function claimAnswer({ key }: Record<string, unknown>): Response {
    if (!gateway.answers.has(key)) return new Response(null, { status: 204 });
    return json({ key, answer: gateway.answers.get(key) });
  }

  async function claim(): Promise<Response> {
    if (gateway.claimable.length === 0) await new Promise<void>((resolve) => waiting.add(resolve));
    const task = gateway.claimable.shift();
    const response = task ? json(task) : new Response(null, { status: 204 });
    response.headers.set('agent-state', gateway.state);
    return response;
  }

  const gateway: ScriptedGateway = {
    fetch,
    registration: undefined,
    claimable: [],
    state: 'ready',
    isReplaced: false,
    cancelled: [],
    respondToReport: undefined,
    respondToWrite: undefined,
    pieces: [],
    written: new Map(),
    answers: new Map(),
    respondToClaim: undefined,
    outage: undefined,
    outcomes: new Map(),
    wake() {
      for (const resolve of waiting) resolve();
      waiting.clear();
    },
    bodies: (operation) =>
      fetch.sent.flatMap(({ url, body }) =>
        url.pathname === `/api/agent/${operation}` && body ? [body] : [],
      ),
  };
  return gateway;
}
