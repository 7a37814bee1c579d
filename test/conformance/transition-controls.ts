/** The negative controls of the guide's section "The life of a task" (L1). */
import type { Control } from './controls.ts';
import type { Fields } from './findings.ts';
import {
  changeBodies,
  changeCode,
  changeHeaders,
  changeRequests,
  changeResponses,
  changeTasks,
} from './planted-faults.ts';

const SUBMIT = /^POST \/api\/cli\/tasks$/;
const GET = /^GET \/api\/cli\/tasks\/[^/]+$/;
const CANCEL = /^POST \/api\/cli\/.*\/cancel$/;
const REPORT = /\/result$/;
const HEARTBEAT = /\/heartbeat$/;
const CLAIM = /\/claim$/;

const is = (status: string, error_info: string | null) => (task: Fields) =>
  task.status === status &&
  (error_info === null ? task.error_info === null : String(task.error_info).startsWith(error_info));
/** Tasks of a kind have other values. */
const tasks = (which: (task: Fields) => boolean, other: Fields) =>
  changeTasks((task) => (which(task) ? { ...task, ...other } : task));
/** The controls, by the requirement whose check must find the fault. */
export const TRANSITION_CONTROLS: Readonly<Record<string, Control>> = {
  'task-life.pending-an-agent-qualifies': {
    fault: 'A claim returns no task.',
    plant: changeResponses(CLAIM, (answer) => (answer.status === 200 ? { ...answer, body: '{}' } : answer)),
  },
  'task-life.pending-no-agent-qualifies': {
    fault: '`queue_timeout` is ignored.',
    plant: changeRequests(SUBMIT, ({ queue_timeout, ...body }) =>
      queue_timeout === 1 ? body : { ...body, queue_timeout },
    ),
  },
  'task-life.pending-canceltask-failed-null': {
    fault: 'A pending task that is cancelled names an agent.',
    plant: changeTasks((task) =>
      is('failed', 'cancelled')(task) && task.agent_id === null ? { ...task, agent_id: 'some' } : task,
    ),
  },
  'task-life.pending-timeout-is-over': {
    fault: 'A pending task that times out has another text.',
    plant: changeTasks((task) =>
      is('failed', 'timeout')(task) && task.agent_id === null
        ? { ...task, error_info: '无可用 Agent' }
        : task,
    ),
  },
  'task-life.running-the-task-moves': {
    fault: 'The former agent of a task does not learn that it moved.',
    plant: changeBodies(HEARTBEAT, (body) => ({ ...body, cancelled_request_ids: [] })),
  },
  'task-life.running-reportresult-with-running': {
    fault: 'Progress is lost.',
    plant: tasks(is('running', null), { progress: 0 }),
  },
  'task-life.running-reportresult-with-success': {
    fault: 'A success names no agent.',
    plant: tasks(is('success', null), { agent_id: null }),
  },
  'task-life.running-reportresult-with-failed': {
    fault: 'A report of a failure is not accepted.',
    plant: changeResponses(REPORT, (answer, sent) =>
      sent.includes('"failed"')
        ? { ...answer, body: answer.body.replace('"accepted":true', '"accepted":false') }
        : answer,
    ),
  },
  'task-life.running-canceltask-failed-unchanged': {
    fault: 'A running task that is cancelled loses its agent.',
    plant: tasks(is('failed', 'cancelled'), { agent_id: null }),
  },
  'task-life.running-timeout-is-over': {
    fault: 'A running task that times out loses its agent.',
    plant: tasks(is('failed', 'timeout'), { agent_id: null }),
  },
  'task-life.running-no-contact-for': {
    fault: 'A lost task says another text.',
    plant: tasks(is('failed', 'agent lost'), { error_info: 'lost' }),
  },
  'task-life.success-failed-reportresult-unchanged': {
    fault: 'A late report says that it was accepted.',
    plant: changeResponses(REPORT, (answer) => ({
      ...answer,
      body: answer.body.replace('"accepted":false', '"accepted":true'),
    })),
  },
  'task-life.success-failed-canceltask-unchanged': {
    fault: 'A late cancel has another code.',
    plant: changeCode(CANCEL, 'task_terminal', 'conflict'),
  },
  'task-life.pending-running-success-or': {
    fault: 'A pending task is `queued`.',
    plant: tasks(is('pending', null), { status: 'queued' }),
  },
  'task-life.a-task-that-is': {
    fault: 'A late report of a failure changes a success.',
    plant: (send) => {
      const late = new Set<unknown>();
      return changeTasks((task) =>
        late.has(task.request_id) ? { ...task, status: 'failed', error_info: 'late', result: null } : task,
      )((url, init) => {
        if (init.body?.includes('"error_info":"late"')) late.add(JSON.parse(init.body).request_id);
        return send(url, init);
      });
    },
  },
  'task-life.for-a-program-task': {
    fault: '`Task-Outcome` of a lost task is `failed`.',
    plant: changeHeaders(GET, 'task-outcome', (value) => (value === 'agent_lost' ? 'failed' : value)),
  },
  'task-life.error-info-is-for': {
    fault: '`Task-Outcome` is made from the text.',
    plant: changeResponses(GET, (answer) =>
      answer.body.includes('"error_info":"timeout"')
        ? { ...answer, headers: { ...answer.headers, 'task-outcome': 'timeout' } }
        : answer,
    ),
  },
  'task-life.a-result-counts-from': {
    fault: 'The result of a former agent is not accepted.',
    plant: changeResponses(REPORT, (answer, sent) =>
      sent.includes('after all')
        ? { ...answer, body: answer.body.replace('"accepted":true', '"accepted":false') }
        : answer,
    ),
  },
  'task-life.from-an-agent-that': {
    fault: 'A report of a foreign agent is a 404.',
    plant: changeCode(REPORT, 'agent_mismatch', 'task_not_found'),
  },
  'task-life.of-the-results-that': {
    fault: 'The last `reply` is kept, not the first.',
    plant: changeBodies(GET, (task) =>
      JSON.parse(JSON.stringify(task).replace('"reply":"first"', '"reply":"second"')),
    ),
  },
};
