/** The negative controls of the checks that wait for longer than ten seconds (L1). */
import type { Control } from './controls.ts';
import { answerCalls, changePushReplies, changeRequests, changeTasks } from './planted-faults.ts';

const HEARTBEAT = /\/heartbeat$/;

/** The controls, by the requirement whose check must find the fault. */
export const SLOW_CONTROLS: Readonly<Record<string, Control>> = {
  'agent-life.an-agent-that-sends': {
    fault: 'An agent that sends heartbeats may be silent for ever.',
    plant: answerCalls(HEARTBEAT, { ok: true, cancelled_request_ids: [] }),
  },
  'agent-life.if-the-last-two': {
    fault: 'An agent is offline after 90 seconds, however rare its heartbeats are.',
    plant: (send) => async (url, init) => {
      if (HEARTBEAT.test(url)) await send(url, init);
      return await send(url, init);
    },
  },
  'agent-life.a-push-agent-that': {
    fault: 'Pushes that fail are no reason to be offline.',
    plantInPushes: changePushReplies([404], () => ({ status: 503 })),
  },
  'delivery.the-pauses-before-the': {
    fault: 'Each pause is at least 5 seconds long.',
    plantInPushes: changePushReplies([404], () => ({ status: 404, headers: { 'retry-after': '5' } })),
  },
  'delivery.a-claimed-task-that': {
    fault: 'A task that was named is handed out again.',
    plant: changeRequests(HEARTBEAT, ({ request_ids: _, ...body }) => body),
  },
  'moving.taken-it-named-it': {
    fault: 'A task that was taken moves.',
    plantInPushes: changePushReplies([202], () => 'cut'),
  },
  'moving.may-have-taken-it': {
    fault: 'A task whose first push is unknown moves at once.',
    plantInPushes: changePushReplies([500], () => ({ status: 404 })),
  },
  'moving.not-taken-it-otherwise': {
    fault: 'A task that was not taken moves at once.',
    plantInPushes: changePushReplies([404], () => ({ status: 503 })),
  },
  'moving.not-claimed-it-pull': {
    fault: 'A task that is not claimed stays.',
    plant: (send) => {
      const agents = new Map<unknown, unknown>();
      return changeTasks((task) => {
        const agent_id = agents.get(task.request_id) ?? task.agent_id;
        agents.set(task.request_id, agent_id);
        return { ...task, agent_id };
      })(send);
    },
  },
};
