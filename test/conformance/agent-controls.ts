/**
 * The negative controls of the agent's role: for each check a fault that it must find, planted in an agent
 * that does all that is required. Which other checks notice it too is in `CONTROLS.md`.
 */

import { anotherId, type CallAnswer, type Plant } from './faultless-agent.ts';
import type { Fields } from './findings.ts';

export type AgentControl = {
  /** What the agent does. */
  readonly fault: string;
  readonly plant: Plant;
  /** Whether the agent claims its tasks. */
  readonly isPull?: boolean;
};

const OK: CallAnswer = { status: 200, body: {}, retryAfterSeconds: 0 };

/** Changes the bodies of the calls of an operation. */
function changeCalls(changed: string, change: (body: Fields) => Fields): Plant {
  return ({ send }) => ({
    send: (operation, body) => send(operation, operation === changed ? change(body) : body),
  });
}

/** Changes what the agent makes of responses. */
function changeAnswers(change: (answer: CallAnswer, operation: string) => CallAnswer): Plant {
  return ({ send }) => ({
    send: async (operation, body) => change(await send(operation, body), operation),
  });
}

/** Calls of an operation are not made, and seem to succeed. */
function leaveOut(operation: string): Plant {
  return ({ send }) => ({
    send: (called, body) => (called === operation ? Promise.resolve(OK) : send(called, body)),
  });
}

const isCode = ({ body }: CallAnswer, code: string): boolean => body.code === code;

const isDeparture = (body: Fields): boolean => 'registration' in body && !('draining' in body);

/** The controls, by the requirement whose check must find the fault. */
export const AGENT_CONTROLS: Readonly<Record<string, AgentControl>> = {
  'as-agent.registers': {
    fault: 'It registers without a tag.',
    plant: changeCalls('register', (body) => ({ ...body, agent_tags: [] })),
  },
  'as-agent.register-body': {
    fault: '`current_load` is a text.',
    plant: changeCalls('register', (body) => ({ ...body, current_load: 'none' })),
  },
  'as-agent.secret': {
    fault: 'A heartbeat has another secret.',
    plant: changeCalls('heartbeat', (body) => ({ ...body, auth: 'another' })),
  },
  'as-agent.json': {
    fault: 'It unregisters with a form.',
    plant: ({ encode }) => ({
      encode: (body) => (isDeparture(body) ? Buffer.from(`agent_id=${body.agent_id}`) : encode(body)),
    }),
  },
  'as-agent.utf8': {
    fault: 'A body begins with a byte-order mark.',
    plant: ({ encode }) => ({
      encode: (body) => Buffer.concat([Buffer.from('result' in body ? '\uFEFF' : ''), encode(body)]),
    }),
  },
  'as-agent.heartbeats': { fault: 'It sends no heartbeats.', plant: leaveOut('heartbeat') },
  'as-agent.reports': {
    fault: 'It reports with another secret, and takes the 401 for a good response.',
    plant: changeCalls('result', (body) => ({ ...body, auth: 'another' })),
  },
  'as-agent.unregisters': { fault: 'It ends without unregistering.', plant: leaveOut('unregister') },
  'as-agent.names-itself': {
    fault: 'It unregisters without `agent_id`.',
    plant: changeCalls('unregister', ({ agent_id: _, ...body }) => body),
  },
  'as-agent.progress': {
    fault: '`progress` is a share, such as 0.5.',
    plant: changeCalls('result', (body) => ({ ...body, progress: Number(body.progress) / 200 })),
  },
  'as-agent.result': {
    fault: '`output` is a list.',
    plant: changeCalls('result', (body) => (body.result ? { ...body, result: { output: ['done'] } } : body)),
  },
  'as-agent.interval': {
    fault: 'Heartbeats come four times as seldom as the gateway asks.',
    plant: changeAnswers((answer) => ({
      ...answer,
      body: { ...answer.body, heartbeat_interval: 4 * Number(answer.body.heartbeat_interval) },
    })),
  },
  'as-agent.heartbeat-404': {
    fault: 'It ignores a 404 of a heartbeat.',
    plant: changeAnswers((answer, operation) =>
      operation === 'heartbeat' ? { ...answer, status: 200 } : answer,
    ),
  },
  'as-agent.claims-again': {
    fault: 'It claims no more after a 204.',
    isPull: true,
    plant: ({ send }) => ({
      async send(operation, body) {
        const answer = await send(operation, body);
        return answer.status === 204 ? new Promise(() => {}) : answer;
      },
    }),
  },
  'as-agent.same-id': {
    fault: 'It has a new id at each start.',
    plant: () => ({ newId: (usual) => `${usual}-${anotherId()}` }),
  },
  'as-agent.after-restart': {
    fault: 'It takes a task that comes again after a restart, and forgets it.',
    plant: forgetAfterRestart(),
  },
  'as-agent.request-ids': {
    fault: 'Heartbeats name no task.',
    plant: changeCalls('heartbeat', (body) => ({ ...body, request_ids: [] })),
  },
  'as-agent.registration': {
    fault: 'Heartbeats have no `registration`.',
    plant: changeCalls('heartbeat', ({ registration: _, ...body }) => body),
  },
  'as-agent.taken': {
    fault: 'It takes every task, and works on two at most.',
    plant: ({ take }) => ({
      take(push) {
        const status = take(push);
        return status === 503 ? 202 : status;
      },
    }),
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
  'as-agent.cancelled': {
    fault: 'It goes on with a task that was cancelled.',
    plant: changeAnswers(({ body: { cancelled_request_ids: _, ...body }, ...answer }) => ({
      ...answer,
      body,
    })),
  },
  'as-agent.retry-after': {
    fault: 'It repeats a report at once, whatever `Retry-After` says.',
    plant: changeAnswers((answer) => ({ ...answer, retryAfterSeconds: 0 })),
  },
  'as-agent.lost-response': {
    fault: 'It takes a lost response for a good one.',
    plant: changeAnswers((answer, operation) =>
      answer.status === 0 && operation === 'result' ? OK : answer,
    ),
  },
  'as-agent.not-accepted': {
    fault: 'It repeats a report that was not accepted.',
    plant: changeAnswers((answer) => (answer.body.accepted === false ? { ...answer, status: 500 } : answer)),
  },
  'as-agent.registers-then-reports': {
    fault: 'It drops a report that got `agent_not_found`.',
    plant: changeAnswers((answer, operation) =>
      operation === 'result' && isCode(answer, 'agent_not_found') ? OK : answer,
    ),
  },
  'as-agent.drops': {
    fault: 'It repeats a report that got `task_not_found`.',
    plant: changeAnswers((answer) =>
      isCode(answer, 'task_not_found') ? { ...answer, status: 500 } : answer,
    ),
  },
  'as-agent.refused-result': {
    fault: 'It drops a result that was refused.',
    plant: changeAnswers((answer) => (answer.status === 422 ? OK : answer)),
  },
  'as-agent.repeated-push': {
    fault: 'It responds 422 to a task that comes again.',
    plant: ({ take, known }) => ({ take: (push) => (known.has(push.id) ? 422 : take(push)) }),
  },
  'as-agent.large-result': {
    fault: 'It repeats a result that is too large, again and again.',
    plant: changeAnswers((answer) => (answer.status === 413 ? { ...answer, status: 500 } : answer)),
  },
  'as-agent.writes': {
    fault: 'Each of its writes begins at 0.',
    plant: changeCalls('output', (body) => ({ ...body, from: 0 })),
  },
  'as-agent.writes-again': {
    fault: 'It takes a lost response to a write for a good one.',
    plant: changeAnswers((answer, operation) =>
      answer.status === 0 && operation === 'output' ? OK : answer,
    ),
  },
  'as-agent.claims-answer': {
    fault: 'It claims an answer once.',
    plant: changeAnswers((answer, operation) =>
      answer.status === 204 && operation === 'answer' ? OK : answer,
    ),
  },
  'as-agent.unknown-code': {
    fault: 'It ends at a code that it does not know.',
    plant: ({ send, end }) => ({
      async send(operation, body) {
        const answer = await send(operation, body);
        if (isCode(answer, 'moon_not_full')) end();
        return answer;
      },
    }),
  },
  'as-agent.unknown-fields': {
    fault: 'It fails a task with a field that it does not know.',
    plant: changeCalls('result', (body) => ({
      ...body,
      status: 'failed',
      result: null,
      error_info: 'unknown',
    })),
  },
  'as-agent.outage': {
    fault: 'It ends when the gateway does not respond.',
    plant: ({ send, end }) => ({
      async send(operation, body) {
        const answer = await send(operation, body);
        if (answer.status === 0 && operation === 'heartbeat') end();
        return answer;
      },
    }),
  },
  'as-agent.drains': {
    fault: 'Heartbeats never say that it drains.',
    plant: changeCalls('heartbeat', (body) => ({ ...body, draining: false })),
  },
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
