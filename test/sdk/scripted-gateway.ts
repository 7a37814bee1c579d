/** The gateway as an agent sees it, in memory: it knows who is registered, hands out tasks, and keeps what is reported. */
import { createScriptedFetch, json, type ScriptedFetch, type Sent } from './scripted-fetch.ts';
import { problem } from './scripted-server.ts';

export type ScriptedGateway = {
  readonly fetch: ScriptedFetch;
  /** The last registration, or nothing: the agent is unknown. */
  registration: Record<string, unknown> | undefined;
  /** Handed out by the next claims. */
  readonly claimable: Record<string, unknown>[];
  /** Named in every answer that can name them. */
  readonly cancelled: string[];
  /** Answers reports instead, while it is set. */
  reportAnswer: ((report: Record<string, unknown>) => Response | undefined) | undefined;
  /** Answers everything, while it is set. */
  outage: Response | undefined;
  /** Wakes the claims that wait. */
  wake(): void;
  /** Bodies sent to an operation, like `heartbeat`. */
  bodies(operation: string): readonly Record<string, unknown>[];
  /** Outcomes reported and accepted, by task. */
  readonly outcomes: Map<string, Record<string, unknown>>;
};

/** Creates the gateway; it answers as the contract says. */
export function createScriptedGateway(): ScriptedGateway {
  const waiting = new Set<() => void>();
  const fetch = createScriptedFetch((sent) => gateway.outage?.clone() ?? answer(sent));

  function answer(sent: Sent): Response | Promise<Response> {
    const operation = sent.url.pathname.replace('/api/agent/', '');
    const body = sent.body ?? {};
    if (body.auth !== 'a-good-secret') return json(problem(401, 'unauthorized'), 401);
    if (operation === 'register') {
      gateway.registration = body;
      return json({ ...receipt(body), heartbeat_interval: 15, offline_after: 90 });
    }
    if (!gateway.registration) return json(problem(404, 'agent_not_found'), 404);
    if (operation === 'heartbeat') return json(receipt(body));
    if (operation === 'claim') return claim();
    if (operation === 'result') return gateway.reportAnswer?.(body) ?? report(body);
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
    reportAnswer: undefined,
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
