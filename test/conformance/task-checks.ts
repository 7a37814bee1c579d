/** The checks of tasks and their events, by the letter of the specification (L0). */
import type { Check } from './check.ts';
import { type Fields, isFields, requireEqual, requireThat } from './findings.ts';
import type { Agent, Kit } from './kit.ts';
import * as scenario from './played-scenarios.ts';
import { requireObject, requireStatus } from './subject.ts';

const STATUSES = ['pending', 'running', 'success', 'failed'];
const ENDINGS = [
  ...[scenario.succeeded, scenario.failedByAgent, scenario.cancelled],
  ...[scenario.timedOut, scenario.unmatched],
];

/** Returns all tasks that are submitted and read: each as it was at first, and as it ended. */
async function tasksOf(kit: Kit) {
  const played = await Promise.all(ENDINGS.map((ending) => kit.see<scenario.Played>(ending)));
  return played.flatMap(({ fresh, done }) => [fresh, done]);
}

/** Requires that a field which the client sent comes back in every response. */
function isKept(field: 'task_type' | 'task_tags' | 'cli_session_id' | 'timeout' | 'payload'): Check {
  return async (kit) => {
    const { submission, payload, fresh, done } = await kit.see(scenario.succeeded);
    const sent: Fields = { ...submission, payload };
    for (const task of [fresh, done]) requireEqual(task[field], sent[field], `\`${field}\``);
  };
}

export const TASK_CHECKS: Readonly<Record<string, Check>> = {
  'match.by-tags': async (kit) => {
    const { expected, chosen } = await kit.see(scenario.matched);
    requireEqual(chosen, expected, 'The agent of each task');
  },
  'match.not-full': async (kit) => {
    const { expected, has, seen } = await kit.see(scenario.full);
    requireEqual(has.agent_id, expected, 'The agent of the first task');
    for (const task of seen) requireEqual(task.agent_id, null, 'The agent of a task when the agent is full');
  },
  'match.no-agent': async (kit) => {
    const { done } = await kit.see(scenario.unmatched);
    requireEqual([done.status, done.error_info], ['failed', '无可用 Agent'], 'The end without an agent');
  },
  'life.statuses': async (kit) => {
    for (const { status } of await tasksOf(kit))
      requireThat(STATUSES.includes(String(status)), `A task is ${status}; must be one of ${STATUSES}.`);
    const { fresh, running, done } = await kit.see(scenario.succeeded);
    const seen = [fresh.status, running.status, done.status].map((status) =>
      STATUSES.indexOf(String(status)),
    );
    requireThat(
      !seen.includes(-1) && seen.every((at, index) => at >= (seen[index - 1] ?? 0)),
      'A task went back.',
    );
  },
  'life.ends-failed': async (kit) => {
    for (const end of [scenario.cancelled, scenario.timedOut])
      requireEqual((await kit.see<scenario.Played>(end)).done.status, 'failed', '`status`');
  },
  'outcome.two-ways': async (kit) => {
    const { done, event } = await kit.see(scenario.succeeded);
    requireEqual([done.status, event.status], ['success', 'success'], 'The outcome, polled and streamed');
  },
  'task.request-id': async (kit) => {
    const { fresh, done, event } = await kit.see(scenario.succeeded);
    const { request_id } = fresh;
    requireThat(typeof request_id === 'string' && request_id !== '', '`request_id` must be a text.');
    requireEqual(
      [done.request_id, event.request_id],
      [request_id, request_id],
      '`request_id` on get and event',
    );
    const { fresh: other } = await kit.see(scenario.unmatched);
    requireThat(other.request_id !== request_id, 'Two tasks have one `request_id`.');
  },
  'task.task-type': isKept('task_type'),
  'task.task-tags': isKept('task_tags'),
  'task.payload': isKept('payload'),
  'task.cli-session-id': isKept('cli_session_id'),
  'task.timeout': isKept('timeout'),
  'task.agent-id': async (kit) => {
    const { fresh, running, agent } = await kit.see(scenario.succeeded);
    const none = await kit.see(scenario.unmatched);
    const seen = [fresh.agent_id, running.agent_id, none.done.agent_id];
    requireEqual(seen, [null, agent.agent_id, null], '`agent_id` at first, assigned, and without an agent');
  },
  'task.create-time': async (kit) => {
    const { fresh, done } = await kit.see(scenario.succeeded);
    requireThat(Number.isFinite(fresh.create_time), '`create_time` must be a number.');
    requireEqual(done.create_time, fresh.create_time, '`create_time` at the end');
  },
  'task.progress': async (kit) => {
    for (const { progress, status } of await tasksOf(kit)) {
      const isWhole = Number.isInteger(progress) && Number(progress) >= 0 && Number(progress) <= 100;
      requireThat(isWhole, `\`progress\` is ${progress}; must be an integer from 0 to 100.`);
      requireThat(status !== 'pending' || progress === 0, `\`progress\` is ${progress} at first; must be 0.`);
    }
  },
  'task.result': async (kit) => {
    for (const { status, result } of await tasksOf(kit))
      requireThat(
        status === 'success' ? isFields(result) : result === null,
        `\`result\` of ${status} is wrong.`,
      );
  },
  'task.error-info': async (kit) => {
    for (const { status, error_info } of await tasksOf(kit)) {
      const isRight =
        status === 'failed' ? typeof error_info === 'string' && error_info : error_info === null;
      requireThat(Boolean(isRight), `\`error_info\` of ${status} is ${JSON.stringify(error_info)}.`);
    }
  },
  'task.fresh': async (kit) => {
    const { fresh } = await kit.see(scenario.succeeded);
    const { status, agent_id, progress, result, error_info } = fresh;
    const expected = { status: 'pending', agent_id: null, progress: 0, result: null, error_info: null };
    requireEqual({ status, agent_id, progress, result, error_info }, expected, 'The submitted task');
  },
  'result.reply': async (kit) => {
    const { done, result } = await kit.see(scenario.succeeded);
    requireEqual(isFields(done.result) && done.result.reply, result.reply, '`reply`');
  },
  'result.output': async (kit) => {
    const { done, result } = await kit.see(scenario.succeeded);
    requireEqual(isFields(done.result) && done.result.output, result.output, '`output`');
  },
  'result.other-keys': async (kit) => {
    const { done, reported, result } = await kit.see(scenario.succeeded);
    requireThat(
      (reported?.status ?? 500) < 300,
      `A result with other keys: ${reported?.status}; must be taken.`,
    );
    requireEqual(isFields(done.result) && done.result.output, result.output, '`output` beside other keys');
  },
  'result.only-output': async (kit) => {
    const { done } = await kit.see(scenario.outputAlone);
    requireEqual(done.status, 'success', '`status` of a result with `output` alone');
    requireEqual(isFields(done.result) && done.result.output, '结束', '`output` alone');
  },
  'error.cancelled': async (kit) => {
    const { done } = await kit.see(scenario.cancelled);
    requireEqual(done.error_info, 'cancelled by user', '`error_info`');
  },
  'error.timeout': async (kit) => {
    const { done } = await kit.see(scenario.timedOut);
    requireEqual(done.error_info, 'timeout', '`error_info`');
  },
  'error.other': async (kit) => {
    const { done, error_info } = await kit.see(scenario.failedByAgent);
    requireEqual(
      [done.status, done.error_info],
      ['failed', error_info],
      'The failure that the agent reported',
    );
  },
  'agent.eligible': async (kit) => {
    const { running, agent } = await kit.see(scenario.succeeded);
    requireEqual(running.agent_id, agent.agent_id, 'The agent of a task for a registered agent');
  },
  'cancel.open': async (kit) => {
    for (const end of [scenario.cancelled, scenario.cancelledAtOnce]) {
      const { done } = await kit.see<scenario.Played>(end);
      requireEqual([done.status, done.error_info], ['failed', 'cancelled by user'], 'The cancelled task');
    }
  },
  'cancel.response': async (kit) => {
    const { first, fresh } = await kit.see(scenario.cancelled);
    requireEqual(first.json, { ok: true, request_id: fresh.request_id }, 'The response to the cancel');
  },
  'cancel.event': async (kit) => {
    const { event } = await kit.see(scenario.cancelled);
    requireEqual([event.event, event.status], ['task_done', 'failed'], 'The event of the cancelled task');
  },
  'cancel.terminal': async (kit) => {
    const { second, done, after } = await kit.see(scenario.cancelled);
    requireStatus(second, 400, 'of a task that has ended');
    requireEqual(after, done, 'The task after it');
  },
  'life.terminal-stays': async (kit) => {
    const success = { result: { output: 'late' } };
    const failed = { status: 'failed', error_info: 'late' };
    for (const [end, late] of [
      [scenario.succeeded, failed],
      [scenario.cancelled, success],
      [scenario.timedOut, success],
    ] as const) {
      const { agent, done } = await kit.see<scenario.Played & { readonly agent: Agent }>(end);
      const { status: given } = await kit.report(agent, done.request_id, late);
      const { status, result, error_info } = await kit.get(done.request_id);
      requireEqual(
        [status, result, error_info],
        [done.status, done.result, done.error_info],
        `A task that has ended, after a late report (which got ${given})`,
      );
    }
  },
  'life.terminal-event': async (kit) => {
    for (const end of ENDINGS) {
      const { done, event } = await kit.see<scenario.Played>(end);
      requireEqual([event.event, event.status], ['task_done', done.status], 'The event of an end');
    }
  },
  'event.shape': async (kit) => {
    for (const end of ENDINGS) {
      const { event } = await kit.see<scenario.Played>(end);
      requireEqual(event.event, 'task_done', '`event`');
      requireThat(typeof event.request_id === 'string', '`request_id` of an event must be a text.');
      requireThat(event.result === null || isFields(event.result), '`result` of an event is wrong.');
      const { error_info } = event;
      requireThat(
        error_info === null || typeof error_info === 'string',
        '`error_info` of an event is wrong.',
      );
    }
  },
  'event.status': async (kit) => {
    const statuses = [];
    for (const end of ENDINGS) statuses.push((await kit.see<scenario.Played>(end)).event.status);
    requireEqual(statuses, ['success', 'failed', 'failed', 'failed', 'failed'], '`status` of the events');
  },
  'event.data-line': async (kit) => {
    const { stream, data, event } = await kit.see(scenario.succeeded);
    requireThat(!data.includes('\n'), 'The data of an event has several lines.');
    requireEqual(event.event, 'task_done', 'The event');
    requireEqual(stream.events.length, 1, 'The number of events of a task');
  },
  'event.equal': async (kit) => {
    for (const end of ENDINGS) {
      const { done, event } = await kit.see<scenario.Played>(end);
      const seen = [event.request_id, event.status, event.result, event.error_info];
      requireEqual(seen, [done.request_id, done.status, done.result, done.error_info], 'The event');
    }
  },
  'event.scoped': async (kit) => {
    const { expected, seen } = await kit.see(scenario.replayed);
    requireEqual(seen.toSorted(), expected.toSorted(), 'The tasks on a session’s stream');
  },
  'event.replay': async (kit) => {
    const { expected, seen } = await kit.see(scenario.replayed);
    requireEqual(
      seen.filter((id) => expected.includes(id)),
      expected,
      'The stored event, then the live one',
    );
  },
  'task.failures-in-error-info': async (kit) => {
    const { submitted, done } = await kit.see(scenario.unmatched);
    requireObject(submitted);
    const { done: failed } = await kit.see(scenario.failedByAgent);
    for (const { error_info } of [done, failed])
      requireThat(typeof error_info === 'string' && error_info !== '', 'A failed task says no reason.');
  },
  'life.own-timeout': async (kit) => {
    const { done } = await kit.see(scenario.timedOut);
    requireEqual([done.status, done.error_info], ['failed', 'timeout'], 'The end of a task of one second');
    const { done: other } = await kit.see(scenario.succeeded);
    requireEqual(other.status, 'success', 'The end of a task of two minutes');
  },
};
