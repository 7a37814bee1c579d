/**
 * The negative controls of the agent's role: for each check a fault that it must find, planted in an agent
 * that does all that is required, or on its wire. Which other checks notice it too is in `CONTROLS.md`.
 */

import { randomUUID } from 'node:crypto';
import type { Plant } from './faultless-agent.ts';
import { onWire, plantOnWire as wire } from './wire-faults.ts';

export type AgentControl = {
  /** What the agent does. */
  readonly fault: string;
  readonly plant: Plant;
  /** Whether the agent claims its tasks. */
  readonly isPull?: boolean;
};

/** What a task gets that is not to be done. */
const FAILED = { status: 'failed', result: null, error_info: 'unknown' };

/** Pushes with this status get another one. */
function takesFor(got: number, status: number): Plant {
  return ({ take }) => ({
    take(push) {
      const usual = take(push);
      return usual === got ? status : usual;
    },
  });
}

/** The controls, by the requirement whose check must find the fault. */
export const AGENT_CONTROLS: Readonly<Record<string, AgentControl>> = {
  'as-agent.registers': wire('It registers without a tag.', { on: 'register', sends: { agent_tags: [] } }),
  'as-agent.register-body': wire('`current_load` is a text.', {
    on: 'register',
    sends: { current_load: 'none' },
  }),
  'as-agent.secret': wire('A heartbeat has another secret.', { on: 'heartbeat', sends: { auth: 'another' } }),
  'as-agent.json': wire('It unregisters with a form.', {
    on: 'unregister',
    change: (call) => ({ ...call, text: `agent_id=${call.body?.agent_id}` }),
  }),
  'as-agent.utf8': wire('A body begins with a byte-order mark.', {
    on: 'result',
    change: (call) => ({ ...call, text: `\uFEFF${JSON.stringify(call.body)}` }),
  }),
  'as-agent.heartbeats': wire('It sends no heartbeats.', { on: 'heartbeat', isDropped: true }),
  'as-agent.reports': wire('It reports with another secret.', { on: 'result', sends: { auth: 'another' } }),
  'as-agent.unregisters': wire('It ends without unregistering.', { on: 'unregister', isDropped: true }),
  'as-agent.names-itself': wire('It unregisters without `agent_id`.', {
    on: 'unregister',
    sends: { agent_id: undefined },
  }),
  'as-agent.progress': wire('`progress` is a share, such as 0.5.', {
    on: 'result',
    sends: { progress: 0.5 },
  }),
  'as-agent.result': wire('`output` is a list.', { on: 'result', sends: { result: { output: ['done'] } } }),
  'as-agent.interval': wire('Heartbeats come four times as seldom as the gateway asks.', {
    on: 'register',
    reads: { heartbeat_interval: 0.5 },
  }),
  'as-agent.heartbeat-404': wire('It ignores a 404 of a heartbeat.', {
    on: 'heartbeat',
    got: 404,
    sees: 200,
  }),
  'as-agent.claims-again': {
    isPull: true,
    ...wire('It claims no more after a 204.', { on: 'claim', got: 204, after: 'hangs' }),
  },
  'as-agent.same-id': {
    fault: 'It has a new id at each start.',
    plant: (parts) => onWire({ sends: { agent_id: randomUUID() } })(parts),
  },
  'as-agent.after-restart': {
    fault: 'It takes a task that comes again after a restart, and forgets it.',
    plant: forgetAfterRestart(),
  },
  'as-agent.request-ids': wire('Heartbeats name no task.', { on: 'heartbeat', sends: { request_ids: [] } }),
  'as-agent.registration': wire('Heartbeats have no `registration`.', {
    on: 'heartbeat',
    sends: { registration: undefined },
  }),
  'as-agent.taken': {
    fault: 'It takes every task, and works on two at most.',
    plant: takesFor(503, 202),
  },
  'as-agent.busy': {
    fault: 'It responds that it is busy, and works on the task all the same.',
    plant: ({ take, running }) => ({
      take(push) {
        const isIdle = running.size === 0;
        const status = take(push);
        return status === 202 && !isIdle ? 503 : status;
      },
    }),
  },
  'as-agent.once': {
    fault: 'It does not know a task that comes again.',
    plant: ({ take, known }) => ({
      take(push) {
        known.delete(push.id);
        return take(push);
      },
    }),
  },
  'as-agent.signature': {
    fault: 'It takes a push with a wrong signature.',
    plant: ({ isSigned }) => ({
      isSigned: (push) =>
        isSigned(push) || Number(push.headers['webhook-timestamp']) > Date.now() / 1_000 - 60,
    }),
  },
  'as-agent.timestamp': {
    fault: 'It takes a push that was signed long ago.',
    plant: ({ isSigned }) => ({
      isSigned: (push) =>
        isSigned(push) || Number(push.headers['webhook-timestamp']) < Date.now() / 1_000 - 60,
    }),
  },
  'as-agent.one-matches': {
    fault: 'It looks at the first signature alone.',
    plant: ({ isSigned }) => ({
      isSigned: (push) => isSigned(push) && !String(push.headers['webhook-signature']).includes(' '),
    }),
  },
  'as-agent.cancelled': wire('It goes on with a task that was cancelled.', {
    reads: { cancelled_request_ids: [] },
  }),
  'as-agent.retry-after': wire('It repeats a report at once, whatever `Retry-After` says.', {
    on: 'result',
    isHurried: true,
  }),
  'as-agent.lost-response': wire('It takes a lost response for a good one.', {
    on: 'result',
    got: 0,
    sees: 200,
  }),
  'as-agent.not-accepted': wire('It repeats a report that was not accepted.', { got: false, sees: 500 }),
  'as-agent.registers-then-reports': wire('It drops a report that got `agent_not_found`.', {
    on: 'result',
    got: 'agent_not_found',
    sees: 200,
  }),
  'as-agent.drops': wire('It repeats a report that got `task_not_found`.', {
    got: 'task_not_found',
    sees: 500,
  }),
  'as-agent.refused-result': wire('It drops a result that was refused.', {
    on: 'result',
    got: 422,
    sees: 200,
  }),
  'as-agent.repeated-push': {
    fault: 'It responds 422 to a task that comes again.',
    plant: takesFor(409, 422),
  },
  'as-agent.large-result': wire('It repeats a result that is too large, again and again.', {
    got: 413,
    sees: 500,
  }),
  'as-agent.writes': wire('Each of its writes begins at 0.', { on: 'output', sends: { from: 0 } }),
  'as-agent.writes-again': wire('It takes a lost response to a write for a good one.', {
    on: 'output',
    got: 0,
    sees: 200,
  }),
  'as-agent.claims-answer': wire('It claims an answer once.', { on: 'answer', got: 204, sees: 200 }),
  'as-agent.unknown-code': wire('It ends at a code that it does not know.', {
    got: 'moon_not_full',
    after: 'ends',
  }),
  'as-agent.unknown-fields': wire('It fails a task with a field that it does not know.', {
    on: 'result',
    sends: FAILED,
  }),
  'as-agent.outage': wire('It ends when the gateway does not respond.', {
    on: 'heartbeat',
    got: 0,
    after: 'ends',
  }),
  'as-agent.drains': wire('Heartbeats never say that it drains.', {
    on: 'heartbeat',
    sends: { draining: false },
  }),
};

/** A second process of the agent takes its tasks and loses the first of them. */
function forgetAfterRestart(): Plant {
  let starts = 0;
  return ({ take }) => {
    starts += 1;
    let isFirst = starts === 2;
    return {
      take(push) {
        const isLost = isFirst;
        isFirst = false;
        return isLost ? 202 : take(push);
      },
    };
  };
}
