/**
 * What the kit plays with an agent, in this order, once each. A scenario returns what it saw and expects
 * almost nothing: the checks look at it. Where it cannot go on, it throws a finding, which is then that of
 * all checks that look at it.
 */
import { isBusy, isTaken, type Stage } from './agent-stage.ts';
import { NotScored, requireThat } from './findings.ts';
import type { PlayedTask } from './played-gateway.ts';
import { problem, type Received } from './played-server.ts';

/** Slots beyond this many are not filled. */
const SLOTS_MAX = 4;
/** How long the gateway that is restarted is not there. */
const OUTAGE_MS = 700;
const OLD_SECONDS = 600;

const NEEDS_COMMAND = 'The kit can stop and start only an agent that it is given as a command.';
const NEEDS_PUSHES = 'The agent claims its tasks: nothing is pushed to it.';

/** Waits for the end of a task. */
function final(stage: Stage, task: PlayedTask): Promise<Received> {
  return stage.until('the agent reports the end of a task that it took', () => stage.finals(task)[0]);
}

/** Long enough for a task that was begun wrongly to be reported. */
function quiet(stage: Stage): Promise<void> {
  return stage.pause(stage.workMs + stage.quietMs);
}

/** The ends that are reported of a task get these responses, one after the other; then the usual one. */
function answerFinals(stage: Stage, task: PlayedTask, replies: readonly ReturnType<typeof problem>[]): void {
  stage.gateway.answer(({ body, operation }) => {
    const isFinal = operation === 'result' && body.request_id === task.request_id;
    return isFinal && body.status !== 'running' ? replies[stage.finals(task).length - 1] : undefined;
  });
}

/** It registers, sends a heartbeat, and does a task. */
async function begun(stage: Stage) {
  const register = await stage.begin();
  const heartbeat = await stage.find(() => stage.calls('heartbeat')[0]);
  const task = await stage.hand();
  const startedMs = performance.now();
  const report = await final(stage, task);
  stage.workMs = Math.max(0, report.atMs - startedMs);
  return { register, heartbeat, task, report };
}

/** A task is delivered again while the agent works on it, and once more when it has reported it. */
async function repeated(stage: Stage) {
  const { gateway } = stage;
  const task = await stage.hand();
  const statuses: number[] = [];
  void gateway.deliver(task).then((status) => statuses.push(status));
  // No gateway hands out a task to a claim once it has the report.
  gateway.answer(({ body }) => {
    if (body.request_id === task.request_id && body.status !== 'running') gateway.withdraw(task);
    return undefined;
  });
  await final(stage, task);
  if (gateway.isPull() && statuses.length === 0)
    throw new NotScored('The agent claims nothing while it works, so that no task comes again.');
  if (!gateway.isPull()) statuses.push(await gateway.deliver(task));
  await quiet(stage);
  return { finals: stage.finals(task), statuses, isPull: gateway.isPull() };
}

/** A report meets a busy gateway, then loses its response, and is then a late one. */
async function reportedAgain(stage: Stage) {
  const task = await stage.hand();
  stage.gateway.answer(({ body, operation }) => {
    if (operation !== 'result' || body.request_id !== task.request_id || body.status === 'running')
      return undefined;
    const count = stage.finals(task).length;
    if (count === 1) return problem(503, 'busy', { 'retry-after': '1' });
    if (count === 2) return 'cut';
    return {
      status: 200,
      body: { ok: true, request_id: task.request_id, status: 'paused', accepted: false },
    };
  });
  await final(stage, task);
  await stage.find(() => stage.finals(task)[1]);
  await stage.find(() => stage.finals(task)[2]);
  await stage.pause(stage.quietMs);
  return { finals: stage.finals(task) };
}

/** The gateway knows no such task when its end is reported. */
async function dropped(stage: Stage) {
  const task = await stage.hand();
  answerFinals(stage, task, Array(50).fill(problem(404, 'task_not_found')));
  await final(stage, task);
  await stage.pause(stage.quietMs);
  return { finals: stage.finals(task) };
}

/** A report is refused for a reason of a newer gateway; then comes another task. */
async function unknownCode(stage: Stage) {
  const task = await stage.hand();
  answerFinals(stage, task, Array(50).fill(problem(400, 'moon_not_full')));
  await final(stage, task);
  await stage.pause(stage.quietMs / 2);
  stage.gateway.answer(undefined);
  return { report: await final(stage, await stage.hand()) };
}

/** The first report is refused as invalid. */
async function refusedResult(stage: Stage) {
  const task = await stage.hand();
  answerFinals(stage, task, [problem(422, 'validation_failed')]);
  const { body } = await final(stage, task);
  if (body.status === 'failed') throw new NotScored('The agent fails the task: give it another `--payload`.');
  const next = await stage.find(() => stage.finals(task)[1], stage.workMs + 2 * stage.quietMs);
  return { next, isOver: stage.isOver() };
}

/** Each result is too large; a report of a failure is taken. */
async function largeResult(stage: Stage) {
  const task = await stage.hand();
  stage.gateway.answer(({ body, operation }) => {
    const isResult =
      operation === 'result' && body.request_id === task.request_id && body.status === 'success';
    return isResult ? problem(413, 'payload_too_large') : undefined;
  });
  const { body } = await final(stage, task);
  if (body.status === 'failed') throw new NotScored('The agent fails the task: give it another `--payload`.');
  await stage.find(() => stage.finals(task)[1], stage.workMs + 2 * stage.quietMs);
  await stage.pause(stage.quietMs);
  return { finals: stage.finals(task) };
}

/** The first write of the agent gets no response; where it asks, its first claim of the answer gets 204. */
async function wrote(stage: Stage) {
  const task = stage.gateway.createTask();
  const own = (operation: string) => stage.calls(operation).filter(isOf(task));
  stage.gateway.answer(({ operation }) =>
    operation === 'output' && own('output').length === 1 ? 'cut' : undefined,
  );
  await final(stage, await stage.hand(task));
  return { writes: own('output'), claims: own('answer') };
}

/** The gateway has forgotten the agent: it learns that from a heartbeat, and then from a report. */
async function forgotten(stage: Stage) {
  const from = stage.gateway.received.length;
  stage.gateway.forget();
  await stage.until('the agent registers again after a heartbeat got 404', () =>
    stage.calls('register', from).at(0),
  );
  return {};
}

async function forgottenReport(stage: Stage) {
  const task = await stage.hand();
  answerFinals(stage, task, [problem(404, 'agent_not_found')]);
  const first = await final(stage, task);
  stage.gateway.forget();
  const from = stage.gateway.received.indexOf(first);
  const register = await stage.find(() => stage.calls('register', from)[0]);
  return { first, register, second: await stage.find(() => stage.finals(task)[1]) };
}

/** A task is cancelled while the agent works on it. */
async function cancelled(stage: Stage) {
  const task = await stage.hand();
  stage.gateway.cancel(task.request_id);
  const from = stage.gateway.received.length;
  const heard = await stage.find(() => stage.calls('heartbeat', from)[0] ?? stage.finals(task)[0]);
  if (heard?.operation !== 'heartbeat')
    throw new NotScored('The task ended before a heartbeat: give the agent a longer one with `--payload`.');
  await quiet(stage);
  const late = stage.finals(task).filter(({ atMs }) => atMs > heard.atMs + stage.quietMs / 5);
  return { late, next: await final(stage, await stage.hand()) };
}

/** Pushes with a wrong signature, with an old one, and with two of which the second is right. */
async function signed(stage: Stage) {
  const { gateway } = stage;
  if (gateway.isPull()) throw new NotScored(NEEDS_PUSHES);
  const [wrong, old, both] = [gateway.createTask(), gateway.createTask(), gateway.createTask()];
  const wrongStatus = await gateway.deliver(wrong, { signature: 'wrong' });
  const oldStatus = await gateway.deliver(old, { ageSeconds: OLD_SECONDS });
  await quiet(stage);
  const started = [wrong, old].map((task) => stage.calls('result').some(isOf(task)));
  const bothStatus = await gateway.deliver(both, { signature: 'second' });
  const report = isTaken(bothStatus) ? await stage.find(() => stage.finals(both)[0]) : undefined;
  return { wrongStatus, oldStatus, bothStatus, started, report };
}

function isOf({ request_id }: PlayedTask): (call: Received) => boolean {
  return ({ body }) => body.request_id === request_id;
}

/** One task more than the agent has slots. */
async function overloaded(stage: Stage) {
  const { gateway } = stage;
  const slots = Number(gateway.agent()?.max_concurrent ?? 1);
  const tasks = Array.from({ length: Math.min(slots, SLOTS_MAX) + 1 }, () => gateway.createTask());
  const statuses = new Map<PlayedTask, number>();
  for (const task of tasks) void gateway.deliver(task).then((status) => statuses.set(task, status));
  const isLost = (task: PlayedTask): boolean =>
    isTaken(statuses.get(task)) && stage.finals(task).length === 0;
  await stage.find(() => (tasks.some(isLost) ? undefined : true), stage.limitMs + slots * stage.workMs);
  await stage.pause(stage.quietMs);
  for (const task of tasks) gateway.withdraw(task);
  const refused = tasks.filter((task) => isBusy(statuses.get(task)));
  const begunAllTheSame = refused.filter((task) => stage.calls('result').some(isOf(task)));
  return {
    isPull: gateway.isPull(),
    lost: tasks.filter(isLost).length,
    refused: refused.length,
    begun: begunAllTheSame.length,
  };
}

/** The gateway goes down while the agent works, and comes back without knowing it. */
async function outage(stage: Stage) {
  const task = await stage.hand();
  await stage.gateway.stopListening();
  stage.gateway.forget();
  await stage.pause(OUTAGE_MS);
  const from = stage.gateway.received.length;
  await stage.gateway.listen();
  await stage.until('the agent registers again at a gateway that was restarted', () =>
    stage.calls('register', from).at(0),
  );
  return { report: await final(stage, task) };
}

/** The agent is killed while it works, and started again. */
async function restarted(stage: Stage) {
  if (!stage.isCommand) throw new NotScored(NEEDS_COMMAND);
  const former = stage.gateway.agent()?.agent_id;
  const task = await stage.hand();
  stage.signal('SIGKILL');
  await stage.find(() => undefined, stage.limitMs);
  requireThat(stage.isOver(), 'The agent still runs after SIGKILL.');
  const { body } = await stage.begin();
  const isNamed = Array.isArray(body.request_ids) && body.request_ids.includes(task.request_id);
  if (!isNamed) await stage.hand({ ...task, agent_id: body.agent_id });
  return { former, agent_id: body.agent_id, report: await stage.find(() => stage.finals(task)[0]) };
}

/** The agent gets SIGTERM while it works. */
async function stopped(stage: Stage) {
  if (!stage.isCommand) throw new NotScored(NEEDS_COMMAND);
  const task = await stage.hand();
  const from = stage.gateway.received.length;
  stage.signal('SIGTERM');
  await stage.find(() => undefined, stage.limitMs);
  const isDraining = ({ body }: Received): boolean => body.draining === true;
  return {
    isOver: stage.isOver(),
    report: stage.finals(task)[0],
    unregister: stage.calls('unregister', from)[0],
    heartbeats: stage.calls('heartbeat', from).length,
    draining: stage.calls('heartbeat', from).find(isDraining),
  };
}

/** All scenarios, in the order in which they are played. */
export const SCENARIOS = {
  begun,
  repeated,
  reportedAgain,
  dropped,
  unknownCode,
  refusedResult,
  largeResult,
  wrote,
  forgotten,
  forgottenReport,
  cancelled,
  signed,
  overloaded,
  outage,
  restarted,
  stopped,
} as const;

export type ScenarioName = keyof typeof SCENARIOS;
export type Seen<Name extends ScenarioName> = Awaited<ReturnType<(typeof SCENARIOS)[Name]>>;

/** What a scenario saw. */
export type Look = <Name extends ScenarioName>(name: Name) => Seen<Name>;
/** Throws what the scenario threw that it looks at, or what `findings.ts` describes. */
export type AgentCheck = (stage: Stage, look: Look) => void;
