/**
 * The negative controls of the kit: for each check a fault that it must find, planted between the kit and a
 * gateway that conforms. Each changes as little as it can; which other checks notice it too is in
 * `CONTROLS.md`.
 */
import type { Fields } from './findings.ts';
import {
  addToRequests,
  changeBodies,
  changeEvents,
  changeOutcomes,
  changeResponses,
  changeStatus,
  changeTasks,
  endStreams,
  forgetReplays,
  splitData,
} from './planted-faults.ts';
import type { TakePush } from './pushed-agents.ts';
import type { Send } from './subject.ts';

export type Control = {
  /** What the gateway seems to do. */
  readonly fault: string;
  /** In what the kit sends and gets for it. */
  readonly plant?: (send: Send) => Send;
  /** In what the kit's agents are sent and reply. */
  readonly plantInPushes?: (take: TakePush) => TakePush;
};

const SUBMIT = /^POST \/api\/cli\/tasks$/;
const GET = /^GET \/api\/cli\/tasks\//;
const CANCEL = /^POST .*\/cancel$/;
const EVENTS = /^GET \/api\/cli\/events$/;
const REGISTER = /\/register$/;
const HEARTBEAT = /\/heartbeat$/;
const REPORT = /\/result$/;
const UNREGISTER = /\/unregister$/;
const LISTING = /^GET \/api\/admin\/agents$/;

const has = (text: string) => (one: Fields) => String(one.error_info).startsWith(text);
const isNowhere = ({ task_tags }: Fields): boolean => /-nowhere$/.test(String(task_tags));
/** The controls, by the requirement whose check must find the fault. */
export const SPECIFICATION_CONTROLS: Readonly<Record<string, Control>> = {
  'match.by-tags': {
    fault: 'A task goes to another agent than the one with its tag.',
    plant: changeTasks((task) =>
      /-other,/.test(String(task.task_tags)) && task.agent_id ? { ...task, agent_id: 'another' } : task,
    ),
  },
  'match.not-full': {
    fault: 'A task is given to an agent that is full.',
    plant: changeTasks((task) =>
      has('无可用')(task) && !isNowhere(task) ? { ...task, agent_id: 'full' } : task,
    ),
  },
  'match.no-agent': {
    fault: 'A task without an agent ends with another text.',
    plant: changeOutcomes((one) => (has('无可用')(one) ? { ...one, error_info: 'no agent' } : one)),
  },
  'life.statuses': {
    fault: 'A running task is `executing`.',
    plant: changeTasks((task) => (task.status === 'running' ? { ...task, status: 'executing' } : task)),
  },
  'life.ends-failed': {
    fault: 'A task that timed out is a `success`.',
    plant: changeTasks((task) => (has('timeout')(task) ? { ...task, status: 'success', result: {} } : task)),
  },
  'outcome.two-ways': {
    fault: 'The event of a success says `failed`.',
    plant: changeEvents((event) => (event.status === 'success' ? { ...event, status: 'failed' } : event)),
  },
  'task.request-id': {
    fault: 'A task that is read has another `request_id`.',
    plant: changeBodies(GET, (task) => ({ ...task, request_id: `${task.request_id}x` })),
  },
  'task.task-type': {
    fault: '`task_type` comes back in capitals.',
    plant: changeTasks((task) => ({ ...task, task_type: String(task.task_type).toUpperCase() })),
  },
  'task.task-tags': {
    fault: '`task_tags` come back in another order.',
    plant: changeTasks((task) => ({ ...task, task_tags: [...(task.task_tags as string[])].reverse() })),
  },
  'task.payload': {
    fault: 'Texts of a payload lose what is not ASCII.',
    plant: changeTasks((task) => ({
      ...task,
      payload: JSON.parse(JSON.stringify(task.payload ?? {}).replaceAll(/[^ -~]/g, '?')),
    })),
  },
  'task.cli-session-id': {
    fault: '`cli_session_id` is cut.',
    plant: changeTasks((task) => ({ ...task, cli_session_id: String(task.cli_session_id).slice(0, 8) })),
  },
  'task.timeout': {
    fault: '`timeout` comes back in milliseconds.',
    plant: changeTasks((task) => ({ ...task, timeout: Number(task.timeout) * 1_000 })),
  },
  'task.agent-id': {
    fault: '`agent_id` is an empty text where no agent was assigned.',
    plant: changeTasks((task) => (isNowhere(task) ? { ...task, agent_id: '' } : task)),
  },
  'task.create-time': {
    fault: '`create_time` is a text.',
    plant: changeTasks((task) => ({ ...task, create_time: String(task.create_time) })),
  },
  'task.progress': {
    fault: '`progress` of a cancelled task is -1.',
    plant: changeTasks((task) => (has('cancelled')(task) ? { ...task, progress: -1 } : task)),
  },
  'task.result': {
    fault: '`result` of a failed task is an object.',
    plant: changeOutcomes((one) => (one.status === 'failed' ? { ...one, result: {} } : one)),
  },
  'task.error-info': {
    fault: '`error_info` of a success is an empty text.',
    plant: changeOutcomes((one) => (one.status === 'success' ? { ...one, error_info: '' } : one)),
  },
  'task.fresh': {
    fault: '`agent_id` of a submitted task is a text.',
    plant: changeBodies(SUBMIT, (task) => ({ ...task, agent_id: 'unassigned' })),
  },
  'result.reply': {
    fault: '`reply` is dropped.',
    plant: changeOutcomes(({ ...one }) => changeResult(one, ({ reply: _, ...rest }) => rest)),
  },
  'result.output': {
    fault: '`output` is cut after a character.',
    plant: changeOutcomes((one) =>
      changeResult(one, (result) => ({ ...result, output: String(result.output)[0] })),
    ),
  },
  'result.other-keys': {
    fault: 'A result with other keys is refused.',
    plant: changeResponses(REPORT, (answer, sent) =>
      sent.includes('"files"') ? { ...answer, status: 422 } : answer,
    ),
  },
  'result.only-output': {
    fault: 'A result without a `reply` is dropped.',
    plant: changeOutcomes((one) => changeResult(one, (result) => ('reply' in result ? result : {}))),
  },
  'error.cancelled': {
    fault: 'A cancelled task has another text.',
    plant: changeOutcomes((one) => (has('cancelled')(one) ? { ...one, error_info: 'cancelled' } : one)),
  },
  'error.timeout': {
    fault: 'A task that timed out has another text.',
    plant: changeOutcomes((one) => (has('timeout')(one) ? { ...one, error_info: 'timed out' } : one)),
  },
  'error.other': {
    fault: 'The text of an agent’s failure is replaced.',
    plant: changeOutcomes((one) =>
      has('Division')(one) ? { ...one, error_info: 'The agent failed.' } : one,
    ),
  },
  'agent.eligible': {
    fault: 'A task runs without naming its agent rightly.',
    plant: changeTasks((task) => (task.status === 'running' ? { ...task, agent_id: 'some-agent' } : task)),
  },
  'cancel.open': {
    fault: 'A cancel is taken and does nothing.',
    plant: (send) => async (url, init) => {
      const id = /tasks\/([^/]+)\/cancel/.exec(url)?.[1];
      return id === undefined || !init.method.startsWith('POST') || !url.includes('auth=')
        ? send(url, init)
        : Response.json({ ok: true, request_id: id });
    },
  },
  'cancel.response': {
    fault: 'The response to a cancel lacks `request_id`.',
    plant: changeBodies(CANCEL, ({ ok }) => ({ ok })),
  },
  'cancel.event': {
    fault: 'The event of a cancelled task has another name.',
    plant: changeEvents((event) => (has('cancelled')(event) ? { ...event, event: 'task_cancelled' } : event)),
  },
  'cancel.terminal': {
    fault: 'A task that has ended can be cancelled.',
    plant: changeStatus(CANCEL, 400, 200),
  },
  'life.terminal-stays': {
    fault: 'A late success turns a cancelled task into a success.',
    plant: (send) => {
      const late = new Map<unknown, unknown>();
      return changeTasks((task) =>
        late.has(task.request_id) && has('cancelled')(task)
          ? { ...task, status: 'success', error_info: null, result: late.get(task.request_id) }
          : task,
      )((url, init) => {
        const { request_id, status, result } = REPORT.test(url) ? JSON.parse(init.body ?? '{}') : {};
        if (status === 'success') late.set(request_id, result);
        return send(url, init);
      });
    },
  },
  'life.terminal-event': {
    fault: 'The event of a timeout has another name.',
    plant: changeEvents((event) => (has('timeout')(event) ? { ...event, event: 'task_timeout' } : event)),
  },
  'body.json': {
    fault: 'JSON is sent as text/plain.',
    plant: changeResponses(SUBMIT, (answer) => ({
      ...answer,
      headers: { ...answer.headers, 'content-type': 'text/plain' },
    })),
  },
  'submit.path': {
    fault: 'A submitted task is `queued`.',
    plant: changeBodies(SUBMIT, (task) => ({ ...task, status: 'queued' })),
  },
  'submit.session-equal': {
    fault: 'The session of a task comes back in capitals.',
    plant: changeTasks((task) =>
      isNowhere(task) ? { ...task, cli_session_id: String(task.cli_session_id).toUpperCase() } : task,
    ),
  },
  'submit.wrong-type': {
    fault: 'A submission of wrong types is a 400.',
    plant: changeStatus(SUBMIT, 422, 400),
  },
  'events.content-type': {
    fault: 'The stream is sent as text/plain.',
    plant: (send) => async (url, init) => {
      const response = await send(url, init);
      if (!EVENTS.test(`${init.method} ${new URL(url).pathname}`) || !response.ok) return response;
      return new Response(response.body, { status: 200, headers: { 'content-type': 'text/plain' } });
    },
  },
  'events.long-lived': { fault: 'The stream ends a second after its first event.', plant: endStreams(1_000) },
  'get.unknown': { fault: 'An unknown task is a 410.', plant: changeStatus(GET, 404, 410) },
  'cancel.unknown': { fault: 'To cancel an unknown task is a 400.', plant: changeStatus(CANCEL, 404, 400) },
  'register.path': {
    fault: 'A registration is answered without JSON.',
    plant: changeResponses(REGISTER, (answer) =>
      answer.status === 200 ? { ...answer, body: 'OK' } : answer,
    ),
  },
  'register.wrong-type': {
    fault: 'A registration of wrong types is a 400.',
    plant: changeStatus(REGISTER, 422, 400),
  },
  'heartbeat.path': { fault: 'A heartbeat is a 500.', plant: changeStatus(HEARTBEAT, 200, 500) },
  'heartbeat.unregistered': {
    fault: 'A heartbeat of an agent that never registered is taken.',
    plant: changeResponses(HEARTBEAT, (answer, sent) =>
      sent.includes('-unknown"') ? { ...answer, status: 200 } : answer,
    ),
  },
  'report.path': {
    fault: '`progress` that was reported is lost.',
    plant: changeTasks((task) => (task.progress === 100 ? { ...task, progress: 99 } : task)),
  },
  'report.no-agent-id': {
    fault: 'A report without `agent_id` is a 422.',
    plant: changeStatus(REPORT, 400, 422),
  },
  'unregister.path': { fault: 'To unregister is a 500.', plant: changeStatus(UNREGISTER, 200, 500) },
  'unregister.ends': {
    fault: 'A heartbeat of an agent that has unregistered is a 400.',
    plant: changeResponses(HEARTBEAT, (answer, sent) =>
      answer.status === 404 && !sent.includes('-unknown"') ? { ...answer, status: 400 } : answer,
    ),
  },
  'agents.listing': {
    fault: 'The listing has no states.',
    plant: changeResponses(LISTING, (answer) => ({
      ...answer,
      body: answer.body.replaceAll(/"(ready|processing)"/g, '"unknown"'),
    })),
  },
  'auth.body': { fault: 'A body needs no secret.', plant: addToRequests('body') },
  'auth.query': { fault: 'A query needs no secret.', plant: addToRequests('query') },
  'auth.both': {
    fault: 'A secret in body and query is refused.',
    plant: (send) => (url, init) =>
      SUBMIT.test(`${init.method} ${new URL(url).pathname}`) && url.includes('auth=')
        ? Promise.resolve(Response.json({ detail: 'once' }, { status: 400 }))
        : send(url, init),
  },
  'auth.admin': { fault: 'The listing needs no secret.', plant: addToRequests('header') },
  'auth.differs': { fault: 'A wrong secret is a 403.', plant: changeStatus(/./, 401, 403) },
  'event.shape': {
    fault: 'An event of a failure has no `result`.',
    plant: changeEvents(({ result, ...event }) => (result === null ? event : { ...event, result })),
  },
  'event.status': {
    fault: 'The event of a cancelled task says `cancelled`.',
    plant: changeEvents((event) => (has('cancelled')(event) ? { ...event, status: 'cancelled' } : event)),
  },
  'event.data-line': { fault: 'The data of an event is two lines.', plant: splitData },
  'event.equal': {
    fault: 'The event of a failure has another text than the task.',
    plant: changeEvents((event) => (has('Division')(event) ? { ...event, error_info: 'failed' } : event)),
  },
  'event.scoped': {
    fault: 'A stream has events of other sessions too.',
    plant: changeEvents((event) =>
      has('无可用')(event) ? [event, { ...event, request_id: 'foreign' }] : event,
    ),
  },
  'event.replay': { fault: 'Events that were missed are lost.', plant: forgetReplays },
  'task.failures-in-error-info': {
    fault: 'A task that failed says no reason.',
    plant: changeOutcomes((one) => (has('Division')(one) ? { ...one, error_info: '' } : one)),
  },
  'life.own-timeout': {
    fault: 'A task of one second ends otherwise than by its timeout.',
    plant: changeTasks((task) =>
      has('timeout')(task) ? { ...task, error_info: 'cancelled by user' } : task,
    ),
  },
};

/** The same outcome with another result, if it has one. */
function changeResult(one: Fields, change: (result: Fields) => Fields): Fields {
  return one.status === 'success' ? { ...one, result: change((one.result ?? {}) as Fields) } : one;
}
