/**
 * Plays scenarios with a client. Each has a gateway of its own and one run of the client, which submits one
 * task and prints its result. A trial holds what was seen, and the checks look at it.
 */
import { randomBytes } from 'node:crypto';
import {
  ANSWER,
  CLIENT_SCENARIOS,
  type ClientScenarioName,
  type Pause,
  type Scenario,
} from './client-scenarios.ts';
import { type Fields, Finding } from './findings.ts';
import { type Starter, tellPrinted } from './started-command.ts';
import { createTrialGateway, type TrialGateway, type Wire } from './trial-gateway.ts';
import { pause } from './trial-streams.ts';

/** One run of the client. */
export type Trial = {
  readonly gateway: TrialGateway;
  readonly auth: string;
  /** The task that the client is to submit. */
  readonly task: { readonly type: string; readonly tag: string; readonly payload: Fields };
  /** What the task's agent writes, and the result. */
  readonly texts: readonly string[];
  readonly result: Fields;
  readonly exitCode: number | null;
  readonly output: string;
  readonly printed: string;
  /** Whether it ended by itself, within the limit. */
  readonly hasEnded: boolean;
  readonly limitMs: number;
};

export type TrialOptions = {
  readonly starter: Starter;
  readonly prefix: string;
  readonly payload: Fields;
  /** How long the client may take. */
  readonly limitMs: number;
  /** How soon the client must reopen a stream that was cut. */
  readonly longMs: number;
  readonly signal: AbortSignal;
};

const WORK_MS = 300;
/** How long a poll is held at most. */
const HOLD_MS_MAX = 2_000;
const POLL_MS = 10;
/** How many texts the agent writes. */
const TEXTS = 5;
/** Each has three bytes, so that the result has less than 1 MiB. */
const LARGE_CHARACTERS = 340_000;
const TASKS = '/api/cli/tasks';

/** Returns what a scenario changes on the wire between the client and its gateway. */
function changeWire(scenario: Scenario, auth: string, findGateway: () => TrialGateway): Wire {
  const { on = {}, write, others = 0, holdMsMax = HOLD_MS_MAX, outcome, isForgetful } = scenario;
  const foreign = new Set<unknown>();

  /** Ends other tasks of the session, for want of an agent. */
  async function submitOthers(session: unknown): Promise<void> {
    const task = { auth, task_type: 'other', task_tags: ['别人'], payload: {}, cli_session_id: session };
    while (foreign.size < others)
      foreign.add((await findGateway().ask('POST', TASKS, task)).body?.request_id);
  }

  return {
    divert: (call, nth) => on[call.operation as keyof typeof on]?.(nth, call),
    async ask({ operation, body, url, headers }) {
      if (operation === 'submit' && body.cli_session_id) await submitOthers(body.cli_session_id);
      const query = new URLSearchParams(url.search);
      const wait = Number(query.get('wait') ?? 0);
      if (wait * 1_000 > holdMsMax) query.set('wait', String(holdMsMax / 1_000));
      if (isForgetful) query.delete('after');
      const { 'last-event-id': last, ...others } = headers;
      const [id = ''] = findGateway().created;
      const path = url.pathname.replace(/(?<=^\/api\/cli\/tasks\/)[^/]+/, (text) =>
        decode(text) === scenario.request_id ? id : text,
      );
      return { path: `${path}?${query}`, headers: isForgetful ? others : headers };
    },
    tell(_call, reply) {
      const { body = {}, headers } = reply;
      const { request_id = body.request_id } = scenario;
      const named = body.request_id === undefined ? reply : { ...reply, body: { ...body, request_id } };
      if (outcome === undefined || !headers?.['task-outcome']) return named;
      return { ...named, headers: { ...headers, 'task-outcome': outcome } };
    },
    write(frame, nth) {
      const { end, event, request_id } = frame.fields;
      const isOwn = end === true || (event === 'task_done' && !foreign.has(request_id));
      return write?.({ ...frame, isOwn }, nth);
    },
  };
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Plays one scenario. Throws a finding if the client submits nothing. */
export async function playTrial(name: ClientScenarioName, options: TrialOptions): Promise<Trial> {
  const { starter, prefix, payload, limitMs, longMs, signal } = options;
  const scenario: Scenario = CLIENT_SCENARIOS[name];
  const auth = randomBytes(24).toString('hex');
  const marker = randomBytes(6).toString('hex');
  const output = `完成 ${marker} 🎉${scenario.isLarge ? '好'.repeat(LARGE_CHARACTERS) : ''}`;
  const result = { reply: '收到 👍', output, more: { pages: [1, 2.5, null] } };
  const texts = Array.from({ length: TEXTS }, (_, nth) => `第${nth}段 ${marker} 🎉.`);
  const task = { type: `${prefix}-type`, tag: `${prefix}-标签`, payload };
  const { agent = {}, longs, workMs = longs === undefined ? WORK_MS : longs * longMs } = scenario;
  const gateway: TrialGateway = createTrialGateway({ auth, ...changeWire(scenario, auth, () => gateway) });
  const wait: Pause = async (ms) => {
    signal.throwIfAborted();
    await pause(ms);
    signal.throwIfAborted();
  };
  await gateway.listen();
  const script = { tags: [task.tag], after: workMs / 1_000, progress: [50], output: texts, result };
  if (agent) await (await gateway.simulator()).agents.add({ ...script, ...agent });
  const client = starter.start({
    TASK_GATEWAY_URL: gateway.url,
    TASK_GATEWAY_AUTH: auth,
    TASK_TYPE: task.type,
    TASK_TAG: task.tag,
    TASK_PAYLOAD: JSON.stringify(payload),
    TASK_ANSWER: JSON.stringify(ANSWER),
  });
  try {
    const endMs = performance.now() + limitMs;
    // The trial shows what failed there: the client ended too early, or the run.
    const meanwhile = scenario.meanwhile?.(client, gateway, wait).catch(() => {});
    while (!client.isOver() && performance.now() < endMs) await wait(POLL_MS);
    const hasEnded = client.isOver();
    client.signal('SIGKILL');
    if (hasEnded) await meanwhile;
    if (gateway.calls('submit').length === 0)
      throw new Finding(
        `The client ${hasEnded ? 'ended' : `ran for ${limitMs / 1_000} s`} without submitting a task.` +
          tellPrinted(client.printed()),
      );
    return {
      gateway,
      auth,
      task,
      texts,
      result,
      exitCode: client.exitCode(),
      output: client.output(),
      printed: client.printed(),
      hasEnded,
      limitMs,
    };
  } finally {
    client.signal('SIGKILL');
    await gateway.close().catch(() => {});
  }
}

/** Returns what the scenario saw; throws what it threw. */
export type LookAtTrial = (name: ClientScenarioName) => Trial;
/** Throws what the trial that it looks at threw, or what `findings.ts` describes. */
export type ClientCheck = (look: LookAtTrial) => void;
