/**
 * The negative controls of what the guide says of agents, pushes and moves (L1). Those of checks that wait
 * long are in `slow-controls.ts`.
 */
import type { Control } from './controls.ts';
import {
  answerCalls,
  changeBodies,
  changePushHeader,
  changePushReplies,
  changeRequests,
  changeStatus,
  changeTasks,
  swapWaiting,
} from './planted-faults.ts';

const SUBMIT = /^POST \/api\/cli\/tasks$/;
const REGISTER = /\/register$/;
const HEARTBEAT = /\/heartbeat$/;
const UNREGISTER = /\/unregister$/;
const CLAIM = /\/claim$/;
const REPORT = /\/result$/;

/** A response to a push with one of these statuses seems to have another one. */
const replies = (statuses: readonly number[], status: number) =>
  changePushReplies(statuses, () => ({ status }));
/** Some calls lack a field. */
const without = (calls: RegExp, name: string) => changeRequests(calls, ({ [name]: _, ...body }) => body);

const AGENTS: Readonly<Record<string, Control>> = {
  'agent-life.ready-registered-runs-no': {
    fault: '`current_load` of a heartbeat is ignored.',
    plant: without(HEARTBEAT, 'current_load'),
  },
  'agent-life.processing-runs-at-least': {
    fault: 'A heartbeat of an agent that runs tasks says `ready`.',
    plant: changeBodies(HEARTBEAT, (body) =>
      body.state === 'processing' ? { ...body, state: 'ready' } : body,
    ),
  },
  'agent-life.draining-a-heartbeat-said': {
    fault: 'The next heartbeat ends draining.',
    plant: changeRequests(HEARTBEAT, ({ draining = false, ...body }) => ({ ...body, draining })),
  },
  'agent-life.offline-no-contact-for': {
    fault: 'A 410 counts as any other refusal.',
    plantInPushes: replies([410], 404),
  },
  'agent-life.contact-is-any-call': {
    fault: 'A push that the agent is too busy for is no contact.',
    plantInPushes: replies([429, 503], 404),
  },
  'agent-life.with-a-lost-after': {
    fault: '`lost_after` is ignored.',
    plant: without(REGISTER, 'lost_after'),
  },
  'agent-life.the-next-call-brings': {
    fault: 'A report brings an agent back after its 410.',
    plant: (send) => async (url, init) => {
      if (REPORT.test(url)) await send(url.replace(REPORT, '/heartbeat'), init);
      return await send(url, init);
    },
  },
  'agent-life.an-agent-that-unregisters': {
    fault: 'A claim does not wait.',
    plant: without(CLAIM, 'wait'),
  },
  'agent-life.the-gateway-keeps-under': {
    fault: 'What was cancelled meanwhile is forgotten.',
    plant: changeBodies(REGISTER, (body) => ({ ...body, cancelled_request_ids: [] })),
  },
  'choice.an-agent-qualifies-if': {
    fault: 'An agent that drains gets tasks.',
    plant: without(HEARTBEAT, 'draining'),
  },
  'choice.of-several-agents-whose': {
    fault: 'The agent with most of the tags gets the task, whatever became of its last push.',
    plant: changeTasks((task) => {
      const isOfBoth = Array.isArray(task.task_tags) && task.task_tags.length > 1;
      return isOfBoth && task.status === 'running' ? { ...task, agent_id: 'failing' } : task;
    }),
  },
  'choice.then-the-order-is': {
    fault: '`current_load` of a registration is ignored.',
    plant: without(REGISTER, 'current_load'),
  },
  'choice.tasks-that-wait-queue': {
    fault: 'Of two tasks that wait the later one is offered first.',
    plant: swapWaiting,
  },
  'choice.a-task-that-is': {
    fault: 'A task that may not wait does.',
    plant: changeRequests(SUBMIT, (body) => ({ queue_timeout: 30, ...body })),
  },
};

const PUSHES: Readonly<Record<string, Control>> = {
  'delivery.2xx-409-taken-the': { fault: 'A 409 is a refusal.', plantInPushes: replies([409], 400) },
  'delivery.429-503-not-taken': {
    fault: 'A busy agent counts as any other that refuses.',
    plantInPushes: replies([429, 503], 404),
  },
  'delivery.410-not-taken-gone': {
    fault: 'An agent that responded 410 is pushed to again.',
    plantInPushes: replies([410], 404),
  },
  'delivery.3xx-other-4xx-but': {
    fault: 'Behind a redirect the agent may have the task.',
    plantInPushes: replies([302], 500),
  },
  'delivery.408-other-5xx-cut': {
    fault: 'Behind a cut response the agent does not have the task.',
    plantInPushes: (take) => async (push) => {
      const reply = await take(push);
      return reply === 'cut' ? { status: 400 } : reply;
    },
  },
  'delivery.retry-after-seconds-or': {
    fault: '`Retry-After` is ignored.',
    plantInPushes: changePushReplies([404, 500, 503], ({ status }) => ({ status })),
  },
  'delivery.an-agent-that-comes': {
    fault: 'The pause behind a 410 is three times as long.',
    plantInPushes: changePushReplies([410], ({ status }) => ({ status, headers: { 'retry-after': '3' } })),
  },
  'delivery.no-second-push-is': {
    fault: 'A second push is sent while one is open.',
    plantInPushes: (take) => (push) => {
      const again = setTimeout(() => void take(push), 1_000);
      return take(push).finally(() => clearTimeout(again));
    },
  },
  'delivery.a-2xx-shows-in': {
    fault: 'A 2xx shows two seconds later.',
    plant: (send) => {
      const shown = new Map<unknown, number>();
      return changeBodies(/\/explain$/, (body) => {
        const fromMs = shown.get(body.request_id) ?? performance.now() + 2_000;
        if (body.acknowledged === true) shown.set(body.request_id, fromMs);
        return { ...body, acknowledged: body.acknowledged === true && performance.now() > fromMs };
      })(send);
    },
  },
  'delivery.a-failed-push-never': {
    fault: 'A push that failed is the reason why its task did.',
    plant: changeTasks((task) =>
      task.error_info === 'timeout' ? { ...task, error_info: 'the push failed' } : task,
    ),
  },
  'moving.not-taken-it-and': {
    fault: 'A task stays with an agent that has unregistered.',
    plant: answerCalls(UNREGISTER, { ok: true }),
  },
  'moving.not-taken-it-its': {
    fault: 'A task stays with a busy agent.',
    plantInPushes: replies([503], 404),
  },
  'moving.it-moves-to-another': {
    fault: 'A task is not offered to an agent that comes to have room.',
    plant: without(HEARTBEAT, 'current_load'),
  },
  'moving.an-agent-that-registers': {
    fault: '`request_ids` of a registration are ignored.',
    plant: without(REGISTER, 'request_ids'),
  },
};

const FIVE_CALLS: Readonly<Record<string, Control>> = {
  'five-calls.api-agent-register-auth': {
    fault: 'A registration is a 201.',
    plant: changeStatus(REGISTER, 200, 201),
  },
  'five-calls.api-agent-claim-auth': {
    fault: 'A claim without a task is a 404.',
    plant: changeStatus(CLAIM, 204, 404),
  },
  'five-calls.api-agent-heartbeat-auth': {
    fault: 'Heartbeats are asked for every 10 seconds.',
    plant: changeBodies(REGISTER, (body) => ({ ...body, heartbeat_interval: 10 })),
  },
  'five-calls.api-agent-result-auth': {
    fault: 'A result without a `reply` gets an empty one.',
    plant: changeTasks((task) =>
      task.status === 'success' ? { ...task, result: { reply: '', output: 'HELLO' } } : task,
    ),
  },
  'five-calls.api-agent-unregister-auth': {
    fault: 'To unregister is a 202.',
    plant: changeStatus(UNREGISTER, 200, 202),
  },
  'five-calls.each-is-a-post': { fault: 'A claim takes any secret.', plant: changeStatus(CLAIM, 401, 200) },
  'five-calls.capitals-is-a-tag': {
    fault: 'A task without an agent ends with another text.',
    plant: changeTasks((task) => (task.agent_id === null ? { ...task, error_info: 'no agent' } : task)),
  },
};

const SIGNATURES: Readonly<Record<string, Control>> = {
  'signature.with-a-push-secret': {
    fault: 'The oldest secret’s signature comes first.',
    plantInPushes: changePushHeader('webhook-signature', (value) => value.split(' ').toReversed().join(' ')),
  },
  'signature.each-is-v1-and': {
    fault: 'The signatures do not cover the timestamp that is sent.',
    plantInPushes: changePushHeader('webhook-timestamp', (value) => String(Number(value) + 1)),
  },
  'signature.the-key-of-a': {
    fault: 'The signature with the plain secret is another one.',
    plantInPushes: changePushHeader('webhook-signature', (value) =>
      value.replace(/ v1,.*/, ` v1,${'A'.repeat(43)}=`),
    ),
  },
};

/** The controls, by the requirement whose check must find the fault. */
export const DELIVERY_CONTROLS: Readonly<Record<string, Control>> = {
  ...FIVE_CALLS,
  ...AGENTS,
  ...PUSHES,
  ...SIGNATURES,
};
