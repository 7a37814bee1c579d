/**
 * The negative controls of the agent's role. Each is a fault that a check must find, planted in an agent that
 * does all that is required, or on its wire. `CONTROLS.md` says which other checks notice it too.
 */

import { randomUUID } from 'node:crypto';
import type { Plant } from './faultless-agent.ts';
import { asForm, changes, drops, ends, hurries, onWire, reads, sees, sends, withMark } from './party-wire.ts';

export type AgentControl = {
  /** What the agent does wrong. */
  readonly fault: string;
  readonly plant: Plant;
  /** Whether the agent claims its tasks. */
  readonly isPull?: boolean;
};

/** What a task ends with that must not be done. */
const FAILED = { status: 'failed', result: null, error_info: 'unknown' };

/** Changes the status of pushes from `got` to `status`. */
function takesFor(got: number, status: number, fault: string): AgentControl {
  const plant: Plant = ({ take }) => ({
    take(push) {
      const usual = take(push);
      return usual === got ? status : usual;
    },
  });
  return { fault, plant };
}

/** The controls, by the requirement whose check must find the fault. */
export const AGENT_CONTROLS: Readonly<Record<string, AgentControl>> = {
  'as-agent.registers': sends('register', { agent_tags: [] }, 'It registers without a tag.'),
  'as-agent.register-body': sends('register', { current_load: 'none' }, '`current_load` is a text.'),
  'as-agent.secret': sends('heartbeat', { auth: 'another' }, 'A heartbeat has another secret.'),
  'as-agent.json': changes('unregister', asForm, 'It unregisters with a form.'),
  'as-agent.utf8': changes('result', withMark, 'A body begins with a byte-order mark.'),
  'as-agent.heartbeats': drops('heartbeat', 'It sends no heartbeats.'),
  'as-agent.reports': sends('result', { auth: 'another' }, 'It reports with another secret.'),
  'as-agent.unregisters': drops('unregister', 'It ends without unregistering.'),
  'as-agent.names-itself': sends('unregister', { agent_id: undefined }, 'It unregisters without `agent_id`.'),
  'as-agent.progress': sends('result', { progress: 0.5 }, '`progress` is a share, such as 0.5.'),
  'as-agent.result': sends('result', { result: { output: ['done'] } }, '`output` is a list.'),
  'as-agent.interval': reads(
    'register',
    { heartbeat_interval: 0.5 },
    'Heartbeats come four times as seldom.',
  ),
  'as-agent.heartbeat-404': sees(200, 'heartbeat', 404, 'It ignores a 404 of a heartbeat.'),
  'as-agent.claims-again': {
    fault: 'It claims no more after a 204.',
    isPull: true,
    plant: onWire('claim', async (call, { send }) => {
      const answer = await send(call);
      return answer.status === 204 ? new Promise(() => {}) : answer;
    }),
  },
  'as-agent.same-id': {
    fault: 'It has a new id at each start.',
    plant: (parts) => sends('', { agent_id: randomUUID() }, '').plant(parts),
  },
  'as-agent.after-restart': {
    fault: 'It takes a task that comes again after a restart, and forgets it.',
    plant: forgetAfterRestart(),
  },
  'as-agent.request-ids': sends('heartbeat', { request_ids: [] }, 'Heartbeats name no task.'),
  'as-agent.registration': sends(
    'heartbeat',
    { registration: undefined },
    'Heartbeats have no `registration`.',
  ),
  'as-agent.taken': takesFor(503, 202, 'It takes every task, and works on two at most.'),
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
  'as-agent.cancelled': reads(
    '',
    { cancelled_request_ids: [] },
    'It goes on with a task that was cancelled.',
  ),
  'as-agent.retry-after': hurries('result', 503, 'It repeats a report at once, whatever `Retry-After` says.'),
  'as-agent.lost-response': sees(200, 'result', 0, 'It takes a lost response for a good one.'),
  'as-agent.not-accepted': sees(500, 'result', false, 'It repeats a report that was not accepted.'),
  'as-agent.registers-then-reports': sees(
    200,
    'result',
    404,
    'It drops a report that got `agent_not_found`.',
  ),
  'as-agent.drops': sees(500, 'result', 404, 'It repeats a report that got `task_not_found`.'),
  'as-agent.refused-result': sees(200, 'result', 422, 'It drops a result that was refused.'),
  'as-agent.repeated-push': takesFor(409, 422, 'It responds 422 to a task that comes again.'),
  'as-agent.large-result': sees(
    500,
    'result',
    413,
    'It repeats a result that is too large, again and again.',
  ),
  'as-agent.writes': sends('output', { from: 0 }, 'Each of its writes begins at 0.'),
  'as-agent.writes-again': sees(200, 'output', 0, 'It takes a lost response to a write for a good one.'),
  'as-agent.claims-answer': sees(200, 'answer', 204, 'It claims an answer once.'),
  'as-agent.unknown-code': ends('result', 'moon_not_full', 'It ends at a code that it does not know.'),
  'as-agent.unknown-fields': sends('result', FAILED, 'It fails a task with a field that it does not know.'),
  'as-agent.outage': ends('heartbeat', 0, 'It ends when the gateway does not respond.'),
  'as-agent.drains': sends('heartbeat', { draining: false }, 'Heartbeats never say that it drains.'),
};

/** Lets a second process of the agent take its tasks and lose the first of them. */
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
