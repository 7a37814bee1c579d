/**
 * The gateway that the kit plays against an agent: it takes registrations, heartbeats, claims and reports,
 * hands out tasks, and keeps all that it received. A scenario may answer a call otherwise, forget the agent,
 * or take the gateway down. Whatever it sends has fields that a newer gateway might send.
 */
import { createHmac, randomBytes, randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { describeExchange } from './exchanges.ts';
import type { Fields } from './findings.ts';
import {
  createPlayedServer,
  NEWER,
  type PlayedServer,
  problem,
  type Received,
  type Reply,
  receipt,
} from './played-server.ts';

/** How a push differs from a right one. */
type PushChange = { readonly signature?: 'wrong' | 'second'; readonly ageSeconds?: number };

export type PlayedTask = { readonly request_id: string } & Fields;

export type PlayedGateway = PlayedServer & {
  /** The agent as it registered last; undefined before, and after it unregistered or was forgotten. */
  agent(): Fields | undefined;
  /** What the next calls get instead of the usual; undefined for a call leaves it the usual. */
  answer(choose: ((call: Received) => Reply | 'cut' | undefined) | undefined): void;
  /** The gateway no longer knows the agent: its calls get 404 until it registers. */
  forget(): void;
  /** From now on the receipts say that the agent may stop working on the task. */
  cancel(request_id: string): void;
  createTask(): PlayedTask;
  /** Whether it created a task of this id. */
  hasTask(request_id: unknown): boolean;
  /** Pushes a task, or offers it to the next claim. Resolves to the status of the push; 0: no response. */
  deliver(task: PlayedTask, change?: PushChange): Promise<number>;
  /** Takes back an offer that no claim has taken. */
  withdraw(task: PlayedTask): void;
  isPull(): boolean;
};

export type PlayedGatewayOptions = {
  readonly auth: string;
  readonly pushSecret: string;
  readonly payload: Fields;
  readonly heartbeatSeconds: number;
  readonly prefix: string;
  /** Where it listens: a free port of this machine where it is absent. */
  readonly host?: string;
  readonly port?: number;
};

/** A claim is answered after a second, so that a run sees what follows a 204. */
const CLAIM_SECONDS_MAX = 1;
const PUSH_MS_MAX = 300_000;
const PATHS = '/api/agent/';

type Offer = { readonly task: PlayedTask; readonly taken: (status: number) => void };

/** Creates the gateway; it does not listen yet. */
export function createPlayedGateway(options: PlayedGatewayOptions): PlayedGateway {
  const { auth, heartbeatSeconds } = options;
  const cancelled = new Set<string>();
  const reported = new Set<unknown>();
  const created = new Set<unknown>();
  const written = new Map<string, number>();
  const asked = new Set<string>();
  const offers: Offer[] = [];
  const claims = new Set<() => void>();
  let agent: Fields | undefined;
  let token = '';
  let choose: ((call: Received) => Reply | 'cut' | undefined) | undefined;

  const server = createPlayedServer({
    ...(options.host === undefined ? {} : { host: options.host }),
    ...(options.port === undefined ? {} : { port: options.port }),
    token: () => token,
    nameOperation: (_method, path) => (path.startsWith(PATHS) ? path.slice(PATHS.length) : ''),
    serve: async (call, response) => choose?.(call) ?? (await serve(call, response)),
  });

  async function serve(call: Received, response: ServerResponse): Promise<Reply> {
    const { operation, body, secret } = call;
    const isNeeded = operation === 'register' || operation === 'claim';
    if (secret === undefined ? isNeeded : secret !== auth) return problem(401, 'unauthorized');
    if (typeof body.agent_id !== 'string') return problem(400, 'agent_id_missing');
    if (operation === 'register') {
      agent = body;
      token = randomUUID();
      const intervals = { heartbeat_interval: heartbeatSeconds, offline_after: 90 };
      return receipt({ ...describe(), registration: token, ...intervals });
    }
    if (operation === 'result' && agent) return takeReport(body);
    if (agent?.agent_id !== body.agent_id) return problem(404, 'agent_not_found');
    switch (operation) {
      case 'heartbeat':
        return receipt(describe());
      case 'claim':
        return claim(body, response);
      case 'output':
        return takePieces(body);
      case 'answer':
        return giveAnswer(body);
      case 'unregister':
        agent = undefined;
        return receipt({ agent_id: body.agent_id });
      default:
        return problem(404, 'route_not_found');
    }
  }

  function describe(): Fields {
    return { agent_id: agent?.agent_id, state: 'resting', cancelled_request_ids: [...cancelled] };
  }

  function takeReport({ request_id, status }: Fields): Reply {
    const accepted = !reported.has(request_id);
    if (status === 'success' || status === 'failed') reported.add(request_id);
    return receipt({ request_id, status, accepted });
  }

  /** The pieces of a writer are stored behind those that it sent before. */
  function takePieces({ request_id, writer, from, pieces }: Fields): Reply {
    const name = `${request_id} ${writer}`;
    const stored = Math.max(
      written.get(name) ?? 0,
      Number(from) + (Array.isArray(pieces) ? pieces.length : 0),
    );
    written.set(name, stored);
    return receipt({ request_id, accepted: true, next: stored, last: stored });
  }

  /** The first claim of each answer comes too early. */
  function giveAnswer({ request_id, key }: Fields): Reply {
    const name = `${request_id} ${key}`;
    if (asked.has(name)) return receipt({ key, answer: 'yes' });
    asked.add(name);
    return { status: 204 };
  }

  async function claim({ wait }: Fields, response: ServerResponse): Promise<Reply> {
    const seconds = typeof wait === 'number' ? Math.min(wait, CLAIM_SECONDS_MAX) : 0;
    if (offers.length === 0 && seconds > 0)
      await new Promise<void>((resolve) => {
        const end = (): void => {
          clearTimeout(timer);
          claims.delete(end);
          resolve();
        };
        const timer = setTimeout(end, seconds * 1_000);
        claims.add(end);
        response.once('close', end);
      });
    const offer = response.destroyed ? undefined : offers.shift();
    offer?.taken(200);
    return offer ? receipt(offer.task) : { status: 204 };
  }

  return {
    get url() {
      return server.url;
    },
    received: server.received,
    exchanges: server.exchanges,
    agent: () => agent,
    answer(next) {
      choose = next;
    },
    forget() {
      agent = undefined;
    },
    cancel: (request_id) => void cancelled.add(request_id),
    createTask() {
      const task = createTask(options, agent);
      created.add(task.request_id);
      return task;
    },
    hasTask: (request_id) => created.has(request_id),
    withdraw(task) {
      const index = offers.findIndex((one) => one.task === task);
      if (index >= 0) offers.splice(index, 1);
    },
    isPull: () => agent?.endpoint === 'pull',
    async deliver(task, change = {}) {
      if (agent?.endpoint !== 'pull') {
        const status = await push(String(agent?.endpoint), task, change, options.pushSecret);
        server.exchanges.push(describeExchange(`push to ${agent?.endpoint}`, status, undefined));
        return status;
      }
      return new Promise((taken) => {
        offers.push({ task, taken });
        for (const end of [...claims].slice(0, 1)) end();
      });
    },
    listen: server.listen,
    async stopListening() {
      for (const end of claims) end();
      await server.stopListening();
    },
  };
}

function createTask({ payload, prefix }: PlayedGatewayOptions, agent: Fields | undefined): PlayedTask {
  return {
    request_id: randomUUID(),
    task_type: `${prefix}-type`,
    task_tags: agent?.agent_tags,
    payload,
    status: 'running',
    agent_id: agent?.agent_id,
    cli_session_id: `${prefix}-session`,
    create_time: Date.now() / 1_000,
    timeout: 300,
    progress: 0,
    result: null,
    error_info: null,
    ...NEWER,
  };
}

/** The key of a push secret, as the document reads it. */
function keyOf(secret: string): Buffer {
  const prefix = 'whsec_';
  return secret.startsWith(prefix)
    ? Buffer.from(secret.slice(prefix.length), 'base64')
    : Buffer.from(secret, 'utf8');
}

async function push(
  endpoint: string,
  task: PlayedTask,
  { signature, ageSeconds = 0 }: PushChange,
  secret: string,
): Promise<number> {
  const body = JSON.stringify(task);
  const seconds = Math.floor(Date.now() / 1_000) - ageSeconds;
  const signed = `${task.request_id}.${seconds}.${body}`;
  const sign = (key: Buffer): string => `v1,${createHmac('sha256', key).update(signed).digest('base64')}`;
  const [right, wrong] = [sign(keyOf(secret)), sign(randomBytes(32))];
  const signatures = { wrong, second: `${wrong} ${right}` };
  const headers = {
    'content-type': 'application/json',
    'webhook-id': task.request_id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': signature ? signatures[signature] : right,
    'task-remaining': '299.5',
    traceparent: `00-${randomBytes(16).toString('hex')}-${randomBytes(8).toString('hex')}-01`,
  };
  try {
    const signal = AbortSignal.timeout(PUSH_MS_MAX);
    const response = await fetch(endpoint, { method: 'POST', body, headers, redirect: 'manual', signal });
    await response.body?.cancel();
    return response.status;
  } catch {
    return 0;
  }
}
