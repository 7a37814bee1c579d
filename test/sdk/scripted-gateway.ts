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
  /** The cancelled tasks, named in every response that can name them. */
  readonly cancelled: string[];
  /** Returns the response to a report, while it is set. */
  respondToReport:
    | ((report: Record<string, unknown>) => Response | Promise<Response> | undefined)
    | undefined;
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
    gateway.registration = undefined;
    return json({ ok: true, agent_id: body.agent_id });
  }

  function receipt({ agent_id }: Record<string, unknown>) {
    return { ok: true, agent_id, state: 'ready', cancelled_request_ids: gateway.cancelled };
  }

  function report(body: Record<string, unknown>): Response {
    const { request_id, status } = body;
    const accepted = !gateway.outcomes.has(String(request_id));
    if (accepted && status !== 'running') gateway.outcomes.set(String(request_id), body);
    return json({ ok: true, request_id, status, accepted });
  }

  async function claim(): Promise<Response> {
    if (gateway.claimable.length === 0) await new Promise<void>((resolve) => waiting.add(resolve));
    const task = gateway.claimable.shift();
    return task ? json(task) : new Response(null, { status: 204 });
  }

  const gateway: ScriptedGateway = {
    fetch,
    registration: undefined,
    claimable: [],
    cancelled: [],
    respondToReport: undefined,
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
