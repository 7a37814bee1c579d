/**
 * The scenarios that the kit plays with an agent, each once and in this order. A scenario returns what it saw
 * and requires almost nothing: the checks look at it. If it cannot go on, it throws a finding, which then
 * counts for all checks that look at it.
 */
import { isTaken, slotsOf } from './agent-gateway.ts';
import { isBusy, type Stage } from './agent-stage.ts';
import { type Fields, NotScored, requireThat } from './findings.ts';
import { type Mishap, problem, type Received, receipt } from './trial-gateway.ts';

/** How many slots of the agent the kit fills at most. */
const SLOTS_MAX = 4;
/** How long the restarted gateway is down. */
const OUTAGE_MS = 700;
const OLD_SECONDS = 600;
/** After this time a claim returns a task again, if the response to its first claim was lost. */
const HANDED_AGAIN_SECONDS = 16;

const NEEDS_COMMAND = 'The kit can stop and start only an agent that it is given as a command.';
const NEEDS_PUSHES = 'The agent claims its tasks: nothing is pushed to it.';

/** Waits for the end of a task. */
function final(stage: Stage, request_id: string): Promise<Received> {
  return stage.until('the agent reports the end of a task that it took', () => stage.finals(request_id)[0]);
}

/** Waits long enough for a task that was begun wrongly to be reported. */
function quiet(stage: Stage): Promise<void> {
  return stage.pause(stage.workMs + stage.quietMs);
}

type Diversion = Mishap | undefined | Promise<Mishap | undefined>;

/** Lets the reports that end the next tasks meet these mishaps, by their number from 0. */
function divertFinals(stage: Stage, choose: (nth: number, body: Fields) => Diversion): void {
  const before = new Set(stage.gateway.deliveries.keys());
  let count = 0;
  stage.gateway.divert(({ operation, body }) => {
    const isFinal = operation === 'result' && body.status !== 'running' && !before.has(body.request_id);
    return isFinal ? choose(count++, body) : undefined;
  });
}

const refuseFinals = (stage: Stage, status: number, code: string): void =>
  divertFinals(stage, () => ({ reply: problem(status, code) }));

/** The agent registers, sends a heartbeat, and does a task. */
async function begun(stage: Stage) {
  const register = await stage.begin();
  const heartbeat = await stage.find(() => stage.gateway.calls('heartbeat')[0]);
  const task = await stage.hand();
  const startedMs = performance.now();
  const report = await final(stage, task);
  stage.workMs = Math.max(0, report.atMs - startedMs);
  return { register, heartbeat, task, report };
}

/** A task is delivered again while the agent works on it, and once more after its report. */
async function repeated(stage: Stage) {
  const { gateway } = stage;
  const statuses: number[] = [];
  const task = await stage.hand();
  const isPull = gateway.isPull();
  if (isPull)
    gateway.divert(({ operation }) => {
      // No gateway hands out a task to a claim once it has the report.
      if (operation !== 'claim' || statuses.length > 0 || stage.finals(task).length > 0) return undefined;
      statuses.push(200);
      return { reply: receipt(gateway.deliveries.get(task)?.task ?? {}) };
    });
  else statuses.push(await gateway.pushAgain(task));
  await final(stage, task);
  if (statuses.length === 0)
    throw new NotScored('The agent claims nothing while it works, so that no task comes again.');
  if (!isPull) statuses.push(await gateway.pushAgain(task));
  await quiet(stage);
  return { finals: stage.finals(task), statuses, isPull };
}

/** A report meets a busy gateway, then loses its response, and is then late. */
async function reportedAgain(stage: Stage) {
  const busy = { reply: problem(503, 'busy', { 'retry-after': '1' }) };
  divertFinals(stage, (nth) => [busy, { isCut: true, isServed: true }][nth]);
  const task = await stage.hand();
  await final(stage, task);
  await stage.find(() => stage.finals(task)[1]);
  await stage.find(() => stage.finals(task)[2]);
  await stage.pause(stage.quietMs);
  return { finals: stage.finals(task) };
}

/** The gateway does not know the task when its end is reported. */
async function dropped(stage: Stage) {
  refuseFinals(stage, 404, 'task_not_found');
  const task = await stage.hand();
  await final(stage, task);
  await stage.pause(stage.quietMs);
  return { finals: stage.finals(task) };
}

/** A report is refused for a reason of a newer gateway; then another task comes. */
async function unknownCode(stage: Stage) {
  refuseFinals(stage, 400, 'moon_not_full');
  await final(stage, await stage.hand());
  await stage.pause(stage.quietMs / 2);
  await stage.clear();
  return { report: await final(stage, await stage.hand()) };
}

/** The first report of a result gets this refusal, or every one does. */
async function refuseResult(stage: Stage, status: number, code: string, isAlways: boolean) {
  divertFinals(stage, (nth, body) =>
    body.status === 'success' && (isAlways || nth === 0) ? { reply: problem(status, code) } : undefined,
  );
  const task = await stage.hand();
  const { body } = await final(stage, task);
  if (body.status === 'failed') throw new NotScored('The agent fails the task: give it another `--payload`.');
  await stage.find(() => stage.finals(task)[1], stage.workMs + 2 * stage.quietMs);
  return task;
}

/** The first report is refused as invalid. */
async function refusedResult(stage: Stage) {
  const task = await refuseResult(stage, 422, 'validation_failed', false);
  return { next: stage.finals(task)[1], isOver: stage.isOver() };
}

/** Every result is too large; a report of a failure is accepted. */
async function largeResult(stage: Stage) {
  const task = await refuseResult(stage, 413, 'payload_too_large', true);
  await stage.pause(stage.quietMs);
  return { finals: stage.finals(task) };
}

/** The agent's first write is lost; if it asks, its first claim of the answer gets 204. */
async function wrote(stage: Stage) {
  const from = stage.gateway.received.length;
  stage.gateway.divert(({ operation }) =>
    operation === 'output' && stage.gateway.calls('output', from).length === 1 ? { isCut: true } : undefined,
  );
  await final(stage, await stage.hand());
  const [writes, claims] = ['output', 'answer'].map((name) => stage.gateway.calls(name, from));
  return { writes: writes ?? [], claims: claims ?? [] };
}

/** The gateway has forgotten the agent, which learns that from a heartbeat, and then from a report. */
async function forgotten(stage: Stage) {
  const from = stage.gateway.received.length;
  await stage.gateway.forget();
  await stage.until('the agent registers again after a heartbeat got 404', () =>
    stage.gateway.calls('register', from).at(0),
  );
  return {};
}

async function forgottenReport(stage: Stage) {
  const { gateway } = stage;
  const from = gateway.received.length;
  divertFinals(stage, async (nth) => {
    if (nth > 0) return undefined;
    await gateway.forget();
    return { reply: problem(404, 'agent_not_found') };
  });
  const task = await stage.hand();
  const first = await final(stage, task);
  const register = await stage.find(() => gateway.calls('register', from)[0]);
  const second = await stage.find(() => stage.finals(task)[1]);
  // An agent that drops the report may get the task again, and report that.
  const isAgain = Number(gateway.deliveries.get(task)?.times) > 1;
  return { first, register, second: isAgain ? undefined : second };
}

/** A task is cancelled while the agent works on it. */
async function cancelled(stage: Stage) {
  const { gateway } = stage;
  const task = await stage.hand();
  await gateway.cancel(task);
  const from = gateway.received.length;
  const heard = await stage.find(() => gateway.calls('heartbeat', from)[0] ?? stage.finals(task)[0]);
  // An agent may also get its task, and fail it at once.
  if (heard?.operation !== 'heartbeat' && heard?.body.status !== 'failed')
    throw new NotScored('The task ended before a heartbeat: give the agent a longer one with `--payload`.');
  await quiet(stage);
  const late = stage.finals(task).filter(({ atMs }) => atMs > heard.atMs + stage.quietMs / 5);
  return { late, next: await final(stage, await stage.hand()) };
}

/** Pushes come with a wrong signature, with an old one, and with two of which the second is correct. */
async function signed(stage: Stage) {
  const { gateway } = stage;
  if (gateway.isPull()) throw new NotScored(NEEDS_PUSHES);
  const wrong = await gateway.pushForged({ signature: 'wrong' });
  const old = await gateway.pushForged({ ageSeconds: OLD_SECONDS });
  await quiet(stage);
  const started = [wrong, old].map((task) => gateway.calls('result').some(isOf(task.request_id)));
  gateway.changePushes({ signature: 'second' });
  const both = await gateway.submit();
  const status = await stage.find(() => gateway.deliveries.get(both)?.statuses[0]);
  const report = status && isTaken(status) ? await stage.find(() => stage.finals(both)[0]) : undefined;
  return { wrongStatus: wrong.status, oldStatus: old.status, bothStatus: status, started, report };
}

function isOf(request_id: string): (call: Received) => boolean {
  return ({ body }) => body.request_id === request_id;
}

/** The agent gets one task more than it has slots. */
async function overloaded(stage: Stage) {
  const { gateway } = stage;
  const slots = slotsOf(gateway.agent() ?? {});
  const tasks: string[] = [];
  for (let nth = 0; nth <= Math.min(slots, SLOTS_MAX); nth += 1) tasks.push(await gateway.submit());
  const statusesOf = (task: string): readonly number[] => gateway.deliveries.get(task)?.statuses ?? [];
  const takenMs = (task: string): number => gateway.deliveries.get(task)?.takenMs ?? Infinity;
  const isLost = (task: string): boolean => takenMs(task) < Infinity && stage.finals(task).length === 0;
  const isDone = (task: string): boolean => stage.finals(task).length > 0 || statusesOf(task).some(isBusy);
  await stage.find(() => tasks.every(isDone) || undefined, stage.limitMs + slots * stage.workMs);
  await stage.pause(stage.quietMs);
  const refused = tasks.filter((task) => statusesOf(task).some(isBusy));
  // By now it may have taken them all the same.
  const begun = refused.filter((task) =>
    gateway.calls('result').some((call) => isOf(task)(call) && call.atMs < takenMs(task)),
  );
  const lost = tasks.filter((task) => isLost(task) && takenMs(task) < performance.now() - stage.limitMs);
  for (const task of tasks) await gateway.cancel(task);
  return { isPull: gateway.isPull(), lost: lost.length, refused: refused.length, begun: begun.length };
}

/** The gateway goes down while the agent works, and comes back without knowing it. */
async function outage(stage: Stage) {
  const { gateway } = stage;
  const task = await stage.hand();
  await gateway.stopListening();
  await gateway.forget();
  await stage.pause(OUTAGE_MS);
  const from = gateway.received.length;
  await gateway.listen();
  await stage.until('the agent registers again at a gateway that was restarted', () =>
    gateway.calls('register', from).at(0),
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
  await stage.pause(stage.quietMs);
  await (await stage.gateway.simulator()).clock.advance(HANDED_AGAIN_SECONDS);
  const report = await stage.find(() => stage.finals(task)[0]);
  return { former, agent_id: body.agent_id, report, areNamed: Array.isArray(body.request_ids) };
}

/** The agent gets SIGTERM while it works. */
async function stopped(stage: Stage) {
  if (!stage.isCommand) throw new NotScored(NEEDS_COMMAND);
  const { gateway } = stage;
  const task = await stage.hand();
  const from = gateway.received.length;
  // How long the agent may take to know of the task.
  await stage.pause(Math.min(stage.workMs / 3, stage.quietMs));
  stage.signal('SIGTERM');
  await stage.find(() => undefined, stage.limitMs);
  const isDraining = ({ body }: Received): boolean => body.draining === true;
  return {
    isOver: stage.isOver(),
    report: stage.finals(task)[0],
    unregister: gateway.calls('unregister', from)[0],
    heartbeats: gateway.calls('heartbeat', from).length,
    draining: gateway.calls('heartbeat', from).find(isDraining),
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
export const SCENARIO_NAMES = Object.keys(SCENARIOS) as readonly ScenarioName[];
export type Seen<Name extends ScenarioName> = Awaited<ReturnType<(typeof SCENARIOS)[Name]>>;

/** Returns what a scenario saw. */
export type Look = <Name extends ScenarioName>(name: Name) => Seen<Name>;
/** Throws what the scenario that it looks at threw, or what `findings.ts` describes. */
export type AgentCheck = (stage: Stage, look: Look) => void;
