/**
 * The gateway of a trial for an agent. It signs the pushes of the simulator and keeps them, so that it can
 * repeat them. It holds claims only for a moment, and it answers questions.
 */
import { createHmac, randomBytes, randomUUID } from 'node:crypto';
import { describeExchange } from './exchanges.ts';
import { type Fields, isFields, listOf } from './findings.ts';
import { createTrialGateway, type Mishap, type Received, type TrialGateway } from './trial-gateway.ts';
import { NEWER } from './trial-streams.ts';

/** A task on its way to the agent, by pushes or by a claim. */
type Delivery = {
  readonly task: Fields;
  readonly headers: Headers;
  readonly atMs: number;
  /** The statuses with which the agent responded to its pushes. */
  readonly statuses: number[];
  /** How often it was pushed, or handed out to a claim. */
  times: number;
  /** When the agent took it. */
  takenMs?: number;
};
/** How a push differs from a correct one. */
type PushChange = { readonly signature?: 'wrong' | 'second'; readonly ageSeconds?: number };
type Divert = (call: Received) => Mishap | undefined | Promise<Mishap | undefined>;

export type AgentGateway = TrialGateway & {
  /** Returns the agent as it last registered; undefined if it has not, unregistered or was forgotten. */
  agent(): Fields | undefined;
  /** The tokens of its registrations, each with the time from which it is the latest. */
  readonly tokens: readonly { readonly token: unknown; readonly atMs: number }[];
  /** The tasks on their way to the agent, by their ids. */
  readonly deliveries: ReadonlyMap<unknown, Delivery>;
  /** Decides how the next calls go. Without `choose` they go as usual. */
  divert(choose?: Divert): void;
  /** Changes the next pushes. */
  changePushes(change?: PushChange): void;
  /** Makes the gateway forget the agent: its calls get 404 until it registers. */
  forget(): Promise<void>;
  /** Submits a task for the agent; resolves to its id. */
  submit(): Promise<string>;
  cancel(request_id: string): Promise<void>;
  /** Pushes a task once more; resolves to the status, or to 0 without a response. */
  pushAgain(request_id: string): Promise<number>;
  /** Pushes a task that nobody has submitted. */
  pushForged(change: PushChange): Promise<{ readonly request_id: string; readonly status: number }>;
  isPull(): boolean;
};

export type AgentGatewayOptions = {
  readonly auth: string;
  readonly pushSecret: string;
  readonly payload: Fields;
  readonly heartbeatSeconds: number;
  readonly prefix: string;
  readonly host?: string;
  readonly port?: number;
};

const TASK_SECONDS = 300;

/** Creates the gateway, which does not listen yet. */
export function createAgentGateway(options: AgentGatewayOptions): AgentGateway {
  const { auth, pushSecret, payload, heartbeatSeconds, prefix } = options;
  const deliveries = new Map<unknown, Delivery>();
  const tokens: { token: unknown; atMs: number }[] = [];
  const asked = new Map<unknown, Fields>();
  let agent: Fields | undefined;
  let divert: Divert | undefined;
  let change: PushChange = {};

  const gateway = createTrialGateway({
    ...options,
    push: async (request) => deliver(await request.json(), request.headers, change),
    divert: (call) => divert?.(call),
    ask({ operation, body }) {
      // The gateway believes that the agent has one slot more, so that a push may find it busy.
      if (operation === 'register') return { body: { ...body, max_concurrent: slotsOf(body) + 1 } };
      // A claim ends soon, so that the kit sees what the agent does after a 204.
      if (typeof body.wait !== 'number') return {};
      const wait = operation === 'answer' ? 0 : Math.min(body.wait, heartbeatSeconds);
      return { body: { ...body, wait } };
    },
    tell(call, reply) {
      const { operation, body } = call;
      const { status } = reply;
      if (operation === 'answer' && status === 204) void answer(body);
      if (status !== 200) return reply;
      if (operation === 'register') {
        agent = body;
        tokens.push({ token: reply.body?.registration, atMs: performance.now() });
      }
      if (operation === 'unregister') agent = undefined;
      if (operation === 'claim') keep(reply.body ?? {}).takenMs ??= performance.now();
      if (operation === 'output')
        for (const { question } of listOf(body.pieces))
          if (isFields(question)) asked.set(question.key, question);
      const isAsked = reply.body?.heartbeat_interval !== undefined;
      return isAsked ? { ...reply, body: { ...reply.body, heartbeat_interval: heartbeatSeconds } } : reply;
    },
  });

  function keep(task: Fields, headers = new Headers()): Delivery {
    const known = deliveries.get(task.request_id);
    const delivery = known ?? { task, headers, atMs: performance.now(), statuses: [], times: 0 };
    delivery.times += 1;
    deliveries.set(task.request_id, delivery);
    return delivery;
  }

  async function deliver(task: Fields, headers: Headers, differing: PushChange = {}): Promise<Response> {
    const delivery = keep(task, headers);
    const endpoint = String(agent?.endpoint);
    const signed = signPush({ ...task, ...NEWER }, headers, differing, pushSecret);
    const response = await fetch(endpoint, { method: 'POST', redirect: 'manual', ...signed }).catch(
      () => null,
    );
    await response?.body?.cancel();
    const { status = 0, headers: told = new Headers() } = response ?? {};
    gateway.exchanges.push(describeExchange(`push to ${endpoint}`, status, undefined));
    delivery.statuses.push(status);
    if (isTaken(status)) delivery.takenMs ??= performance.now();
    if (status === 0) throw new Error('The agent does not respond.');
    return new Response(null, { status, headers: told });
  }

  /** Answers a question once its first claim has found no answer. */
  async function answer({ request_id, key }: Fields): Promise<void> {
    const given = { key, answer: fillSchema(asked.get(key)?.schema) };
    await gateway.ask('POST', `/api/cli/tasks/${request_id}/answer`, given);
  }

  /** Pushes what the gateway itself does not push; resolves to the status. */
  async function pushBeside(task: Fields, headers: Headers, differing?: PushChange): Promise<number> {
    return deliver(task, headers, differing).then(
      ({ status }) => status,
      () => 0,
    );
  }

  return {
    ...gateway,
    // A spread would copy the address from before `listen`.
    get url() {
      return gateway.url;
    },
    tokens,
    deliveries,
    agent: () => agent,
    isPull: () => agent?.endpoint === 'pull',
    divert(choose) {
      divert = choose;
    },
    changePushes(next = {}) {
      change = next;
    },
    async forget() {
      const { agent_id } = agent ?? {};
      agent = undefined;
      if (agent_id !== undefined) await gateway.ask('POST', '/api/agent/unregister', { auth, agent_id });
    },
    async submit() {
      const times = { timeout: TASK_SECONDS, queue_timeout: TASK_SECONDS };
      const names = { task_type: `${prefix}-type`, cli_session_id: `${prefix}-session` };
      const task = { auth, ...names, ...times, task_tags: agent?.agent_tags, payload };
      const { status, body } = await gateway.ask('POST', '/api/cli/tasks', task);
      if (status !== 200) throw new Error(`The kit's task got ${status}: ${JSON.stringify(body)}`);
      return String(body?.request_id);
    },
    async cancel(request_id) {
      await gateway.ask('POST', `/api/cli/tasks/${request_id}/cancel`);
    },
    async pushAgain(request_id) {
      const { task = {}, headers = new Headers() } = deliveries.get(request_id) ?? {};
      return pushBeside(task, headers);
    },
    async pushForged(differing) {
      const request_id = randomUUID();
      const [{ task, headers } = { task: {}, headers: new Headers() }] = deliveries.values();
      const status = await pushBeside({ ...task, request_id }, headers, differing);
      return { request_id, status };
    },
  };
}

/** Returns how many tasks an agent says that it works on at a time. */
export function slotsOf({ max_concurrent = 1 }: Fields): number {
  return Number(max_concurrent);
}

/** Whether a push's status says that the agent has taken the task. */
export function isTaken(status: number): boolean {
  return status === 409 || (status >= 200 && status < 300);
}

/** Returns an answer that a question's schema allows. */
function fillSchema(schema: unknown): unknown {
  if (!isFields(schema) || !isFields(schema.properties)) return 'yes';
  const fill = (field: unknown): unknown => {
    const { type, enum: texts, minimum = 1, minLength = 1 } = isFields(field) ? field : {};
    if (Array.isArray(texts)) return texts[0];
    if (type === 'boolean') return true;
    return type === 'string' ? 'y'.repeat(Number(minLength)) : minimum;
  };
  return Object.fromEntries(Object.entries(schema.properties).map(([name, field]) => [name, fill(field)]));
}

/** Returns the key of a push secret, as the document reads it. */
function keyOf(secret: string): Buffer {
  const prefix = 'whsec_';
  return secret.startsWith(prefix)
    ? Buffer.from(secret.slice(prefix.length), 'base64')
    : Buffer.from(secret, 'utf8');
}

/** Returns the body and the headers of a push. */
function signPush(
  task: Fields,
  usual: Headers,
  { signature, ageSeconds = 0 }: PushChange,
  secret: string,
): { readonly body: string; readonly headers: Headers } {
  const body = JSON.stringify(task);
  const seconds = Math.floor(Date.now() / 1_000) - ageSeconds;
  const signed = `${task.request_id}.${seconds}.${body}`;
  const sign = (key: Buffer): string => `v1,${createHmac('sha256', key).update(signed).digest('base64')}`;
  const [right, wrong] = [sign(keyOf(secret)), sign(randomBytes(32))];
  const headers = new Headers(usual);
  headers.delete('content-length');
  headers.set('content-type', 'application/json');
  headers.set('webhook-id', String(task.request_id));
  headers.set('webhook-timestamp', String(seconds));
  headers.set(
    'webhook-signature',
    { wrong, second: `${wrong} ${right}`, usual: right }[signature ?? 'usual'],
  );
  return { body, headers };
}
