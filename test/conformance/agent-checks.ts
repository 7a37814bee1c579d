/** The checks of agents. Each looks at what the scenarios have seen, or at all calls of the run. */

import type { Stage } from './agent-stage.ts';
import {
  Finding,
  isFields,
  isJsonObject,
  isUtf8,
  NotScored,
  printValue,
  requireEqual,
  requireThat,
} from './findings.ts';
import { PUSH_CHECKS } from './push-checks.ts';
import type { Received } from './trial-gateway.ts';
import type { AgentCheck, Look, ScenarioName, Seen } from './trials-of-agents.ts';
import { WRITING_CHECKS } from './writing-checks.ts';

const IS_TEXT = (value: unknown): boolean => typeof value === 'string' && value !== '';
const IS_COUNT = (value: unknown): boolean => value === undefined || Number.isInteger(value);
const IS_TEXTS = (value: unknown): boolean => Array.isArray(value) && value.every(IS_TEXT);
const CALLS_WITH_ID = ['heartbeat', 'result', 'unregister', 'claim'];
/** How many of the gateway's intervals may pass between two heartbeats. */
const INTERVALS_MAX = 2;
/** How long a call that was already on its way may still name a task. */
const UNDER_WAY_MS = 1_000;

/** Returns the calls of the agent, from its start to its end. */
function allCalls(stage: Stage, look: Look): readonly Received[] {
  look('begun');
  haveSeen(look, 'stopped');
  return stage.gateway.received.filter(({ url }) => url.pathname.startsWith('/api/agent/'));
}

/** Requires the same request, in whichever place the secret is. */
function requireSame(report: Received, first: Received): void {
  const { auth: _new, ...body } = report.body;
  const { auth: _old, ...former } = first.body;
  requireEqual(body, former, 'The repeated report');
}

function requireProgress({ body: { progress } }: Received): void {
  const isAbsent = progress === undefined || progress === null;
  const isWhole = Number.isInteger(progress) && Number(progress) >= 0 && Number(progress) <= 100;
  requireThat(
    isAbsent || isWhole,
    `\`progress\` is ${printValue(progress)}, and must be an integer from 0 to 100.`,
  );
}

function requireResult({ body: { status, result } }: Received): void {
  if (result === null || result === undefined) return;
  requireThat(isFields(result), `\`result\` is ${printValue(result)}, and must be an object or null.`);
  for (const name of ['reply', 'output']) {
    const text = result[name];
    const isRight = text === undefined || typeof text === 'string';
    requireThat(isRight, `\`${name}\` of a ${status} is ${printValue(text)}, and must be a text.`);
  }
}

/** Requires that `request_ids` name the tasks that the agent has, and no others. */
function requireRequestIds(stage: Stage, calls: readonly Received[]): void {
  const naming = calls.filter(({ body }) => Array.isArray(body.request_ids));
  if (naming.length === 0)
    throw new NotScored('The agent sends no `request_ids`: the gateway relies on its own records.');
  for (const { operation, body, atMs } of naming)
    for (const id of body.request_ids as unknown[]) {
      requireThat(
        stage.gateway.deliveries.has(id),
        `A ${operation} names ${printValue(id)}, which it never got.`,
      );
      const ended = stage.gateway
        .calls('result')
        .find((call) => call.body.request_id === id && call.body.status !== 'running' && call.status === 200);
      const isOld = ended !== undefined && ended.endMs < atMs - UNDER_WAY_MS;
      requireThat(!isOld, `A ${operation} names a task whose end the agent has reported.`);
    }
}

/** Requires that a heartbeat named the first task while the agent worked on it. */
function requireNamed(stage: Stage, look: Look): void {
  const { task, report } = look('begun');
  const fromMs = Number(stage.handed.get(task)) + stage.quietMs / 5;
  const between = stage.gateway
    .calls('heartbeat')
    .filter(({ atMs, body }) => atMs > fromMs && atMs < report.atMs && Array.isArray(body.request_ids));
  for (const { body } of between)
    requireThat(
      (body.request_ids as unknown[]).includes(task),
      'A heartbeat during the work on a task does not name it in `request_ids`.',
    );
}

export const AGENT_CHECKS: Readonly<Record<string, AgentCheck>> = {
  ...PUSH_CHECKS,
  ...WRITING_CHECKS,
  'as-agent.registers'(_stage, look) {
    const { agent_tags, max_concurrent } = look('begun').register.body;
    const hasTags = IS_TEXTS(agent_tags) && (agent_tags as unknown[]).length > 0;
    requireThat(hasTags, `\`agent_tags\` is ${printValue(agent_tags)}, and must be a list of texts.`);
    requireThat(
      IS_COUNT(max_concurrent) && Number(max_concurrent ?? 1) > 0,
      `\`max_concurrent\` is ${printValue(max_concurrent)}; an agent that works needs 1 or more.`,
    );
  },
  'as-agent.register-body'(_stage, look) {
    const { agent_id, endpoint, current_load } = look('begun').register.body;
    const isUrl = endpoint === 'pull' || (IS_TEXT(endpoint) && /^https?:/.test(String(endpoint)));
    requireThat(IS_TEXT(agent_id), `\`agent_id\` is ${printValue(agent_id)}, and must be a text.`);
    requireThat(isUrl, `\`endpoint\` is ${printValue(endpoint)}, and must be a URL or \`pull\`.`);
    requireThat(
      IS_COUNT(current_load),
      `\`current_load\` is ${printValue(current_load)}, and must be an integer.`,
    );
  },
  'as-agent.secret'(stage, look) {
    const wrong = allCalls(stage, look).find(({ status }) => status === 401);
    requireThat(!wrong, `A ${wrong?.operation} came with a wrong secret, or without one.`);
    const { register } = look('begun');
    requireThat(IS_TEXT(register.body.auth), 'A registration has no `auth` in its body.');
  },
  'as-agent.json'(stage, look) {
    for (const { operation, bytes } of allCalls(stage, look))
      requireThat(
        isJsonObject(bytes),
        `The body of a ${operation} is ${printValue(bytes.toString())}, no JSON.`,
      );
  },
  'as-agent.utf8'(stage, look) {
    for (const { operation, bytes } of allCalls(stage, look)) {
      requireThat(bytes[0] !== 0xef, `The body of a ${operation} begins with a byte-order mark.`);
      requireThat(isUtf8(bytes), `The body of a ${operation} is no UTF-8.`);
    }
  },
  'as-agent.heartbeats'(stage, look) {
    const { heartbeat } = look('begun');
    requireThat(heartbeat !== undefined, `No heartbeat came within ${stage.limitMs / 1_000} s.`);
  },
  'as-agent.reports'(_stage, look) {
    const { status } = look('begun').report;
    requireThat(status === 200, `The gateway responded ${status} to the report.`);
  },
  'as-agent.unregisters'(_stage, look) {
    const { unregister, isOver } = look('stopped');
    requireThat(unregister !== undefined, 'The agent did not unregister after SIGTERM.');
    requireThat(isOver, 'The agent still runs after SIGTERM.');
  },
  'as-agent.names-itself'(stage, look) {
    for (const { operation, body } of allCalls(stage, look))
      requireThat(
        !CALLS_WITH_ID.includes(operation) || IS_TEXT(body.agent_id),
        `\`agent_id\` of a ${operation} is ${printValue(body.agent_id)}, and must be a text.`,
      );
  },
  'as-agent.progress'(stage, look) {
    for (const call of allCalls(stage, look)) if (call.operation === 'result') requireProgress(call);
  },
  'as-agent.result'(stage, look) {
    for (const call of allCalls(stage, look)) if (call.operation === 'result') requireResult(call);
  },
  'as-agent.interval'(stage, look) {
    const heartbeats = allCalls(stage, look).filter(({ operation }) => operation === 'heartbeat');
    const times = heartbeats.map(({ atMs }) => atMs);
    const gaps = times.slice(1).map((atMs, index) => atMs - Number(times[index]));
    const middle = gaps.toSorted((a, b) => a - b)[Math.floor(gaps.length / 2)];
    requireThat(
      middle !== undefined && middle <= INTERVALS_MAX * stage.heartbeatMs,
      `Heartbeats are ${middle === undefined ? 'too few' : `${(middle / 1_000).toFixed(1)} s apart`}; the gateway asked for one every ${stage.heartbeatMs / 1_000} s.`,
    );
  },
  'as-agent.heartbeat-404': (_stage, look) => void look('forgotten'),
  'as-agent.claims-again'(stage, look) {
    look('begun');
    if (stage.gateway.calls('claim').length === 0)
      throw new NotScored('The agent claims nothing: it gets pushes.');
    haveSeen(look, 'repeated', 'cancelled');
    // The calls of the first process, which made all that come before its restart.
    const claims = stage.gateway.received
      .slice(0, stage.starts[1])
      .filter(({ operation }) => operation === 'claim');
    const empty = claims.findIndex(({ status }) => status === 204);
    requireThat(empty >= 0, 'No claim waited long enough to get 204.');
    requireThat(claims.length > empty + 1, 'No claim came after one that got 204.');
  },
  'as-agent.same-id'(_stage, look) {
    const { former, agent_id } = look('restarted');
    requireEqual(agent_id, former, '`agent_id` after a restart of the agent');
    requireThat(agent_id !== '.' && agent_id !== '..', '`agent_id` must not be `.` or `..`.');
  },
  'as-agent.after-restart'(_stage, look) {
    const { report, areNamed } = look('restarted');
    if (report === undefined && !areNamed)
      throw new NotScored('The agent registers without `request_ids`: the gateway gives it no task again.');
    requireThat(
      report !== undefined,
      'The task in hand when the agent was killed was never reported, though it came again.',
    );
  },
  'as-agent.request-ids'(stage, look) {
    requireRequestIds(stage, allCalls(stage, look));
    requireNamed(stage, look);
  },
  'as-agent.registration'(stage, look) {
    const { tokens } = stage.gateway;
    for (const { operation, body, atMs } of allCalls(stage, look)) {
      if (operation !== 'heartbeat' && operation !== 'unregister') continue;
      const latest = tokens.filter(
        (one, index) => one.atMs <= atMs && (tokens[index + 1]?.atMs ?? atMs) > atMs - UNDER_WAY_MS,
      );
      requireThat(
        latest.some(({ token }) => token === body.registration),
        `\`registration\` of a ${operation} is ${printValue(body.registration)}: send the latest token.`,
      );
    }
  },
  'as-agent.taken'(_stage, look) {
    const { lost } = look('overloaded');
    requireThat(lost === 0, `${lost} of the tasks that the agent took were never reported.`);
    const after = lookIfPlayed(look, 'stopped');
    requireThat(
      !after || after.report !== undefined,
      'The task in hand when the agent got SIGTERM was never reported.',
    );
  },
  'as-agent.busy'(_stage, look) {
    const { refused, begun, isPull } = look('overloaded');
    if (refused === 0)
      throw new NotScored(isPull ? 'The agent claims its tasks.' : 'It took more tasks than it has slots.');
    requireThat(begun === 0, `The agent reported on ${begun} tasks that it was too busy for.`);
  },
  'as-agent.once'(_stage, look) {
    const { finals } = look('repeated');
    requireThat(
      finals.length === 1,
      `A task that came again was reported ${finals.length} times, each time with 200 as the response.`,
    );
  },
  'as-agent.cancelled'(_stage, look) {
    const { late } = look('cancelled');
    requireThat(late.length === 0, 'The agent went on to the end of a task that was cancelled.');
  },
  'as-agent.retry-after'(_stage, look) {
    const [first, second] = look('reportedAgain').finals;
    requireThat(first !== undefined && second !== undefined, 'A report that got 503 was not repeated.');
    const seconds = (second.atMs - first.atMs) / 1_000;
    requireThat(
      seconds > 0.95,
      `\`Retry-After\` said 1 second, and the report was repeated after ${seconds.toFixed(2)}.`,
    );
    requireSame(second, first);
  },
  'as-agent.lost-response'(_stage, look) {
    const [first, , third] = look('reportedAgain').finals;
    requireThat(
      first !== undefined && third !== undefined,
      'A report whose response was lost was not repeated.',
    );
    requireSame(third, first);
  },
  'as-agent.not-accepted'(_stage, look) {
    const { length } = look('reportedAgain').finals;
    requireThat(length >= 3, 'No report got as far as `accepted: false`.');
    requireThat(length === 3, 'A report was repeated after `accepted: false`.');
  },
  'as-agent.registers-then-reports'(_stage, look) {
    const { first, register, second } = look('forgottenReport');
    requireThat(register !== undefined, 'The agent did not register after a report got `agent_not_found`.');
    requireThat(second !== undefined, 'The agent registered again, and did not repeat its report.');
    requireSame(second, first);
  },
  'as-agent.drops'(_stage, look) {
    const { length } = look('dropped').finals;
    requireThat(length === 1, `A report that got \`task_not_found\` was sent ${length} times.`);
  },
  'as-agent.refused-result'(_stage, look) {
    const { next, isOver } = look('refusedResult');
    requireThat(!isOver, 'The agent ended when a result was refused.');
    requireEqual(next?.body.status, 'failed', 'The status that is reported after a result got 422');
  },
  'as-agent.large-result'(_stage, look) {
    const statuses = look('largeResult').finals.map(({ body }) => body.status);
    requireEqual(statuses, ['success', 'failed'], 'What is reported where a result gets 413');
  },
  'as-agent.unknown-code': (_stage, look) => void look('unknownCode'),
  'as-agent.unknown-fields'(_stage, look) {
    const { status } = look('begun').report.body;
    requireEqual(status, 'success', 'The end of a task with a field that no agent knows');
  },
  'as-agent.outage': (_stage, look) => void look('outage'),
  'as-agent.drains'(_stage, look) {
    const { draining, unregister, report, heartbeats } = look('stopped');
    const isEarly = unregister !== undefined && report !== undefined && unregister.atMs < report.atMs;
    if (!draining && !isEarly && heartbeats === 0)
      throw new NotScored('The agent ended before its next heartbeat.');
    requireThat(
      draining !== undefined || isEarly,
      'Heartbeats after SIGTERM do not say `draining: true`, so that more tasks come.',
    );
  },
};

/** Requires that the scenarios were played. Other checks look at what came of them. */
function haveSeen(look: Look, ...names: readonly ScenarioName[]): void {
  for (const name of names)
    try {
      look(name);
    } catch (error) {
      if (!(error instanceof Finding || error instanceof NotScored)) throw error;
    }
}

function lookIfPlayed<Name extends ScenarioName>(look: Look, name: Name): Seen<Name> | undefined {
  try {
    return look(name);
  } catch (error) {
    if (error instanceof NotScored) return undefined;
    throw error;
  }
}
