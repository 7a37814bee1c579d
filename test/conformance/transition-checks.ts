/** The checks of the guide's section "The life of a task" (L1). */
import { awaitAgent, awaitEnd } from './awaited-tasks.ts';
import type { Check } from './check.ts';
import { type Fields, isFields, requireEqual, requireThat } from './findings.ts';
import { movedFromBusy } from './guarantee-checks.ts';
import type { Agent, Kit } from './kit.ts';
import { type Answer, requireObject, requireProblem } from './subject.ts';

/** Reads a task; returns how its headers say that it ended. */
async function outcomeOf(kit: Kit, request_id: unknown): Promise<string | null> {
  const answer = await kit.subject.call('GET', `/api/cli/tasks/${request_id}`, { query: { auth: kit.auth } });
  requireObject(answer);
  return answer.headers.get('task-outcome');
}

/** Submits a task that waits for an agent that never comes. */
async function waiting(kit: Kit, more: Fields): Promise<unknown> {
  return requireObject(await kit.submit([kit.name('nowhere')], { queue_timeout: 60, ...more })).request_id;
}

/** Gives a task to an agent that takes it. */
async function running(kit: Kit, more: Fields = {}, registration: Fields = {}) {
  const agent = await kit.startAgent(registration);
  const { request_id } = requireObject(await kit.submit([agent.tag], more));
  await awaitAgent(kit, request_id, agent);
  return { agent, request_id };
}

/** Requires that a pending task has ended: without an agent, and with this text. */
function requireEnd(task: Fields, agent_id: unknown, error_info: string): void {
  const { status } = task;
  requireEqual(
    [status, task.agent_id, task.error_info],
    ['failed', agent_id, error_info],
    'The task that ended',
  );
}

/** Requires that the agent's next heartbeat names a task which ended without its report. */
async function requireCancelled(kit: Kit, agent: Agent, request_id: unknown): Promise<void> {
  await kit.until('a heartbeat names it in `cancelled_request_ids`', async () => {
    const { cancelled_request_ids: ids } = requireObject(
      await kit.callAs(agent, 'heartbeat', { request_ids: [request_id] }),
    );
    return Array.isArray(ids) && ids.includes(request_id) ? true : undefined;
  });
}

/** Has a task move from a busy agent to another one; the first one reports its end all the same. */
async function moved(kit: Kit) {
  const first = await kit.startAgent({}, 503);
  const { request_id } = requireObject(await kit.submit([first.tag]));
  await kit.until('the task is pushed', () => (kit.pushesTo(first).length > 0 ? true : undefined));
  const second = await kit.startAgent({ agent_tags: [first.tag] });
  const task = await awaitAgent(kit, request_id, second);
  const beat = requireObject(await kit.callAs(first, 'heartbeat', { request_ids: [request_id] }));
  const reported = await kit.report(first, request_id, { result: { output: 'after all' } });
  return { first, request_id, task, beat, reported, done: await kit.get(request_id), second };
}

/** Has an agent report several times; returns the task after each report. */
async function reported(kit: Kit) {
  const { agent, request_id } = await running(kit);
  const other = await kit.startAgent();
  const foreign = await kit.report(other, request_id, {});
  const started = await kit.report(agent, request_id, {
    status: 'running',
    progress: 40,
    result: { reply: 'first' },
  });
  await kit.report(agent, request_id, { status: 'running', progress: 50, result: { reply: 'second' } });
  const between = await kit.get(request_id);
  const finished = await kit.report(agent, request_id, { result: { output: 'done' } });
  const done = await kit.get(request_id);
  const late = await kit.report(agent, request_id, { status: 'failed', error_info: 'late' });
  const cancel = await kit.cancel(request_id);
  return { agent, foreign, started, between, finished, done, late, cancel, after: await kit.get(request_id) };
}

/** Has an agent report its task as failed, with a text that the gateway uses itself. */
async function reportedFailed(kit: Kit) {
  const { agent, request_id } = await running(kit);
  const report = await kit.report(agent, request_id, {
    status: 'failed',
    progress: 10,
    error_info: 'timeout',
  });
  return { agent, request_id, report, done: await awaitEnd(kit, request_id) };
}

/** Lets an agent be silent for longer than its `lost_after`. */
async function lost(kit: Kit) {
  const { agent, request_id } = await running(kit, {}, { lost_after: 3 });
  return { agent, request_id, done: await awaitEnd(kit, request_id) };
}

/** Gives a task to an agent that never reports. */
async function late(kit: Kit) {
  const { agent, request_id } = await running(kit, { timeout: 1 });
  return { agent, request_id, done: await awaitEnd(kit, request_id) };
}

/** Cancels a running task. */
async function cancelled(kit: Kit) {
  const { agent, request_id } = await running(kit);
  requireObject(await kit.cancel(request_id));
  return { agent, request_id, done: await kit.get(request_id) };
}

/** Submits a task that finds no agent; returns it as it waits and as it ends. */
async function unmatched(kit: Kit) {
  const request_id = await waiting(kit, { queue_timeout: 1 });
  // Without `queue_timeout` it would have failed by now.
  await kit.pause(0.3);
  return { before: await kit.get(request_id), request_id, done: await awaitEnd(kit, request_id) };
}

function requireAccepted(answer: Answer, accepted: boolean): void {
  requireEqual(requireObject(answer).accepted, accepted, '`accepted`');
}

export const TRANSITION_CHECKS: Readonly<Record<string, Check>> = {
  'task-life.pending-an-agent-qualifies': async (kit) => {
    const { agent, request_id } = await running(kit);
    const push = await kit.until('the push', () => kit.pushesTo(agent)[0]);
    requireThat(push.bytes.includes(String(request_id)), 'The push lacks the `request_id`.');
    const { error_info } = await kit.get(request_id);
    requireEqual(error_info, null, '`error_info` of a running task');
    const puller = await kit.startAgent({ endpoint: 'pull' });
    const pulled = requireObject(await kit.submit([puller.tag]));
    const claimed = requireObject(await kit.callAs(puller, 'claim', { wait: 5 }));
    requireEqual([claimed.request_id, claimed.status], [pulled.request_id, 'running'], 'The claimed task');
    await kit.cancel(request_id);
  },
  'task-life.pending-no-agent-qualifies': async (kit) => {
    const { before, done } = await kit.see(unmatched);
    requireEqual(before.status, 'pending', '`status` during `queue_timeout`');
    requireEnd(done, null, '无可用 Agent');
  },
  'task-life.running-the-task-moves': async (kit) => {
    const { task, beat, request_id, second } = await kit.see(moved);
    requireEqual(
      [task.status, task.agent_id, task.error_info],
      ['running', second.agent_id, null],
      'The moved task',
    );
    requireEqual(beat.cancelled_request_ids, [request_id], '`cancelled_request_ids` of the former agent');
  },
  'task-life.running-reportresult-with-running': async (kit) => {
    const { agent, started, between } = await kit.see(reported);
    requireAccepted(started, true);
    const { status, agent_id, progress, error_info } = between;
    requireEqual(
      [status, agent_id, progress, error_info],
      ['running', agent.agent_id, 50, null],
      'The running task',
    );
  },
  'task-life.running-reportresult-with-success': async (kit) => {
    const { agent, finished, done } = await kit.see(reported);
    requireAccepted(finished, true);
    requireEqual(
      [done.status, done.agent_id, done.error_info],
      ['success', agent.agent_id, null],
      'The task',
    );
  },
  'task-life.running-reportresult-with-failed': async (kit) => {
    const { agent, report, done } = await kit.see(reportedFailed);
    requireAccepted(report, true);
    requireEnd(done, agent.agent_id, 'timeout');
  },
  'task-life.pending-running-canceltask-failed': async (kit) => {
    const { agent, request_id, done } = await kit.see(cancelled);
    requireEnd(done, agent.agent_id, 'cancelled by user');
    await requireCancelled(kit, agent, request_id);
    const pending = await waiting(kit, {});
    requireObject(await kit.cancel(pending));
    requireEnd(await kit.get(pending), null, 'cancelled by user');
  },
  'task-life.pending-running-timeout-is': async (kit) => {
    const { agent, request_id, done } = await kit.see(late);
    requireEnd(done, agent.agent_id, 'timeout');
    await requireCancelled(kit, agent, request_id);
    requireEnd(await awaitEnd(kit, await waiting(kit, { timeout: 1 })), null, 'timeout');
  },
  'task-life.running-no-contact-for': async (kit) => {
    const { agent, request_id, done } = await kit.see(lost);
    requireThat(
      /^agent lost: no contact for \d+ s$/.test(String(done.error_info)),
      `It ended with ${done.error_info}.`,
    );
    requireEqual([done.status, done.agent_id], ['failed', agent.agent_id], 'The lost task');
    await requireCancelled(kit, agent, request_id);
  },
  'task-life.success-failed-reportresult-200': async (kit) => {
    const { late, done, after } = await kit.see(reported);
    requireAccepted(late, false);
    requireEqual(after, done, 'The task after a late report');
  },
  'task-life.success-failed-canceltask-400': async (kit) => {
    const { cancel, done, after } = await kit.see(reported);
    requireProblem(cancel, 400, 'task_terminal', 'of a task that has ended');
    requireEqual(after, done, 'The task after a late cancel');
  },
  'task-life.pending-running-success-or': async (kit) => {
    const { before, done: failed } = await kit.see(unmatched);
    const { between, done } = await kit.see(reported);
    const seen = [before.status, failed.status, between.status, done.status];
    requireEqual(seen, ['pending', 'failed', 'running', 'success'], 'The statuses');
  },
  'task-life.a-task-that-is': async (kit) => {
    const { done, after } = await kit.see(reported);
    requireEqual(
      [done.status, after.status, after.error_info],
      ['success', 'success', null],
      'The task that has ended',
    );
  },
  'fields.how-the-task-ended': async (kit) => {
    const ends: readonly (readonly [unknown, string])[] = [
      [(await kit.see(reported)).done.request_id, 'success'],
      [(await kit.see(reportedFailed)).request_id, 'failed'],
      [(await kit.see(cancelled)).request_id, 'cancelled'],
      [(await kit.see(late)).request_id, 'timeout'],
      [(await kit.see(unmatched)).request_id, 'no_agent'],
      [(await kit.see(lost)).request_id, 'agent_lost'],
    ];
    for (const [request_id, expected] of ends)
      requireEqual(await outcomeOf(kit, request_id), expected, '`Task-Outcome`');
  },
  'fields.if-an-agent-reported': async (kit) => {
    const { request_id, done } = await kit.see(reportedFailed);
    requireEqual(done.error_info, 'timeout', 'The text of the agent');
    requireEqual(await outcomeOf(kit, request_id), 'failed', '`Task-Outcome` of a failure called timeout');
  },
  'task-life.a-result-counts-from': async (kit) => {
    const { first, reported: report, done } = await kit.see(moved);
    requireAccepted(report, true);
    requireEqual(
      [done.status, done.agent_id],
      ['success', first.agent_id],
      'The task that a former agent ended',
    );
    const { busy, other, request_id } = await movedFromBusy(kit);
    requireAccepted(await kit.report(busy, request_id, { result: { output: 'the first' } }), true);
    requireAccepted(await kit.report(other, request_id, { result: { output: 'the second' } }), false);
    const { result, agent_id } = await kit.get(request_id);
    requireEqual([result, agent_id], [{ output: 'the first' }, busy.agent_id], 'The task that both ended');
  },
  'fields.agent-mismatch-the-task': async (kit) => {
    const { foreign } = await kit.see(reported);
    requireProblem(foreign, 400, 'agent_mismatch', 'of an agent that never had the task');
  },
  'fields.of-the-results-reported': async (kit) => {
    const { done } = await kit.see(reported);
    const { reply, output } = isFields(done.result) ? done.result : {};
    requireEqual([reply, output], ['first', 'done'], '`reply` and `output`');
  },
};
