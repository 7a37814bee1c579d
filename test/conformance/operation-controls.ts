/** The negative controls of what the document says about its operations (L1). */
import type { Control } from './controls.ts';
import { type Fields, isFields } from './findings.ts';
import {
  changeBodies,
  changeCode,
  changeEvents,
  changeRequests,
  changeResponses,
  changeStatus,
  endStreams,
  forgetReplays,
  refuseRequests,
  takeRefused,
} from './planted-faults.ts';
import type { Send } from './subject.ts';

const MATCH = /\/match$/;
const SUBMIT = /^POST \/api\/cli\/tasks$/;
const GET = /^GET \/api\/cli\/tasks\/[^/]+$/;
const CANCEL = /^POST \/api\/cli\/.*\/cancel$/;
const EXPLAIN = /\/explain$/;
const EVENTS = /^GET \/api\/cli\/events$/;
const CLAIM = /\/claim$/;
const HEARTBEAT = /\/heartbeat$/;
const REGISTER = /\/register$/;
const REPORT = /\/result$/;
const UNREGISTER = /\/unregister$/;
const AGENTS = /^GET \/api\/admin\/agents$/;
const AGENT = /^GET \/api\/admin\/agents\/[^/]+$/;
const OVERVIEW = /\/overview$/;
const ROWS = /^GET \/api\/admin\/tasks$/;
const DRAIN = /^POST \/api\/admin\/agents\/[^/]+\/drain$/;
const CANCEL_MANY = /^POST \/api\/admin\/tasks\/cancel$/;

/** Refuses the administrator's secret. */
export const refuseAdmin = (calls: RegExp) =>
  refuseRequests(
    (call, _url, { headers }) => calls.test(call) && 'x-admin-auth' in headers,
    401,
    'unauthorized',
  );
/** Leaves out of streams what keeps proxies from buffering them. */
export const unbuffered =
  (calls: RegExp) =>
  (send: Send): Send =>
  async (url, init) => {
    const response = await send(url, init);
    if (!calls.test(`${init.method} ${new URL(url).pathname}`)) return response;
    const headers = new Headers(response.headers);
    headers.delete('x-accel-buffering');
    return new Response(response.body, { status: response.status, headers });
  };
const cancelled = (one: Fields): boolean => one.error_info === 'cancelled by user';
const isPart = (value: unknown): Fields => (isFields(value) ? value : {});

/** Sends some requests with other headers or under another URL. */
const changeHead =
  (change: (url: string, headers: Readonly<Record<string, string>>) => [string, Record<string, string>]) =>
  (send: Send): Send =>
  (url, init) => {
    const [other, headers] = change(url, init.headers);
    return send(other, { ...init, headers });
  };

/** Progress grows with each response to a call. */
const countCalls = (calls: RegExp) => (send: Send) => {
  let count = 0;
  return changeBodies(GET, (task) => ({ ...task, progress: count }))((url, init) => {
    if (calls.test(`${init.method} ${new URL(url).pathname}`)) count += 1;
    return send(url, init);
  });
};

/** The response to a call that was sent before in the same way comes again, and nothing is done. */
const repeatResponses = (calls: RegExp, keyOf: (body: Fields) => unknown) => (send: Send) => {
  const known = new Map<unknown, Promise<Response>>();
  const repeat: Send = async (url, init) => {
    if (!calls.test(`${init.method} ${new URL(url).pathname}`) || !init.body?.startsWith('{"'))
      return send(url, init);
    const key = keyOf(JSON.parse(init.body));
    const response = known.get(key) ?? send(url, init);
    known.set(key, response);
    return (await response).clone();
  };
  return repeat;
};

const CLIENTS: Readonly<Record<string, Control>> = {
  'previewMatch.returns-which-agents-would': {
    fault: 'A full agent is eligible.',
    plant: changeResponses(MATCH, (answer) => ({
      ...answer,
      body: answer.body.replaceAll('"eligible":false', '"eligible":true'),
    })),
  },
  'previewMatch.the-administrator-s-secret': {
    fault: 'A preview does not take the administrator’s secret.',
    plant: refuseAdmin(MATCH),
  },
  'submitTask.submits-a-task-and': {
    fault: 'A task for a free agent is `running` in the response.',
    plant: changeBodies(SUBMIT, (task) => ({ ...task, status: 'running' })),
  },
  'submitTask.matching-follows-immediately': {
    fault: 'An agent gets a task after ten seconds.',
    plant: changeBodies(EXPLAIN, (one) => ({ ...one, assigned_time: Number(one.assigned_time) + 10 })),
  },
  'submitTask.the-task-s-event': { fault: 'Events that were missed are lost.', plant: forgetReplays },
  'submitTask.a-repeat-with-the': {
    fault: '`Idempotency-Key` is ignored.',
    plant: changeHead((url, { 'idempotency-key': _, ...others }) => [url, others]),
  },
  'submitTask.without-the-header-every': {
    fault: 'Equal submissions are one task.',
    plant: repeatResponses(SUBMIT, (body) => JSON.stringify(body)),
  },
  'getTask.returns-a-task': {
    fault: 'A task has no `progress`.',
    plant: changeBodies(GET, ({ progress: _, ...task }) => task),
  },
  'getTask.with-wait-the-response': {
    fault: '`wait` is ignored.',
    plant: changeHead((url, headers) => [url.replace(/&wait=[\d.]+/, ''), { ...headers }]),
  },
  'getTask.safe-to-repeat': { fault: 'Each reading changes the task.', plant: countCalls(GET) },
  'getTask.the-administrator-s-secret': {
    fault: 'A reading does not take the administrator’s secret.',
    plant: refuseAdmin(GET),
  },
  'cancelTask.cancels-a-pending-or': {
    fault: 'The event of a cancelled task has another text.',
    plant: changeEvents((event) => (cancelled(event) ? { ...event, error_info: 'cancelled' } : event)),
  },
  'cancelTask.no-body-is-needed': {
    fault: 'The body of a cancel is read.',
    plant: refuseRequests((call, _url, { body }) => CANCEL.test(call) && body === '{', 400, 'malformed_body'),
  },
  'cancelTask.the-agent-finds-the': {
    fault: 'Heartbeats name no tasks.',
    plant: changeBodies(HEARTBEAT, (body) => ({ ...body, cancelled_request_ids: [] })),
  },
  'cancelTask.a-terminal-task-is': {
    fault: 'To cancel a task that has ended has another code.',
    plant: changeCode(CANCEL, 'task_terminal', 'conflict'),
  },
  'explainTask.explains-a-task-what': {
    fault: 'An explanation has no `match`.',
    plant: changeBodies(EXPLAIN, (one) => ({ ...one, match: null })),
  },
  'explainTask.it-changes-nothing': {
    fault: 'Each explanation changes the task.',
    plant: countCalls(EXPLAIN),
  },
  'explainTask.the-administrator-s-secret': {
    fault: 'An explanation does not take the administrator’s secret.',
    plant: refuseAdmin(EXPLAIN),
  },
  'subscribeEvents.streams-the-task-done': { fault: 'Stored events are not sent.', plant: forgetReplays },
  'subscribeEvents.the-stream-stays-open': {
    fault: 'The stream ends a second after its first event.',
    plant: endStreams(1_000),
  },
  'subscribeEvents.a-reader-that-comes': {
    fault: 'A late reader gets nothing.',
    plant: forgetReplays,
  },
  'subscribeEvents.the-response-is-never': {
    fault: 'The stream may be buffered.',
    plant: unbuffered(EVENTS),
  },
  'subscribeEvents.after-a-disconnect-reconnect': {
    fault: '`Last-Event-ID` is ignored.',
    plant: changeHead((url, { 'last-event-id': _, ...others }) => [url, others]),
  },
  'subscribeEvents.with-an-id-unknown': {
    fault: 'An unknown id is refused.',
    plant: refuseRequests(
      (_call, _url, { headers }) => /^kit-.*-id$/.test(headers['last-event-id'] ?? ''),
      422,
      'validation_failed',
    ),
  },
};

const AGENT_CALLS: Readonly<Record<string, Control>> = {
  'claimTask.returns-the-next-task': {
    fault: 'A claim does not wait.',
    plant: changeRequests(CLAIM, (body) => (body.wait === 0.6 ? { ...body, wait: 0 } : body)),
  },
  'claimTask.delivery-is-at-least': {
    fault: 'A task that was not acknowledged is never returned again.',
    plant: (send) => {
      const claimed = new Set<unknown>();
      return changeResponses(CLAIM, (answer) => {
        if (answer.status !== 200) return answer;
        const { request_id } = JSON.parse(answer.body);
        const isNew = !claimed.has(request_id);
        claimed.add(request_id);
        return isNew ? answer : { ...answer, status: 204 };
      })(send);
    },
  },
  'claimTask.on-404-register-again': {
    fault: 'A claim of an unknown agent is a 204.',
    plant: changeStatus(CLAIM, 404, 204),
  },
  'claimTask.an-agent-that-registered': {
    fault: 'An agent with a URL may claim.',
    plant: takeRefused(CLAIM, 422),
  },
  'heartbeatAgent.reports-that-the-agent': {
    fault: 'The load of a heartbeat is ignored.',
    plant: changeRequests(HEARTBEAT, ({ current_load: _, ...body }) => body),
  },
  'heartbeatAgent.on-404-register-again': {
    fault: 'A heartbeat of an unknown agent is taken.',
    plant: changeStatus(HEARTBEAT, 404, 200),
  },
  'registerAgent.registers-an-agent-or': {
    fault: 'The first registration counts.',
    plant: repeatResponses(REGISTER, ({ agent_id }) => agent_id),
  },
  'reportResult.reports-the-progress-or': {
    fault: 'Progress is lost.',
    plant: changeBodies(GET, (task) => (task.status === 'running' ? { ...task, progress: 0 } : task)),
  },
  'reportResult.repeat-the-report-until': {
    fault: 'A repeated report says that it was accepted.',
    plant: changeBodies(REPORT, (body) => ({ ...body, accepted: true })),
  },
  'reportResult.on-404-task-not': {
    fault: 'A report of an unknown agent is a 400.',
    plant: changeStatus(REPORT, 404, 400),
  },
  'unregisterAgent.unregisters-an-agent-it': {
    fault: 'An agent that has left gets a task.',
    plant: changeBodies(GET, (task) => (task.agent_id === null ? { ...task, agent_id: 'left' } : task)),
  },
  'unregisterAgent.a-task-it-never': {
    fault: 'To unregister does nothing.',
    plant: (send) => (url, init) =>
      UNREGISTER.test(url) ? Promise.resolve(Response.json({ ok: true })) : send(url, init),
  },
  'unregisterAgent.for-an-unknown-agent': {
    fault: 'To unregister an unknown agent is a 200.',
    plant: takeRefused(UNREGISTER, 404),
  },
  'unregisterAgent.send-the-registration-that': {
    fault: '`registration` is ignored.',
    plant: changeRequests(UNREGISTER, ({ registration: _, ...body }) => body),
  },
};

/** Changes the objects of a list in the body of some responses. */
const changeList = (calls: RegExp, name: string, change: (list: readonly Fields[]) => readonly Fields[]) =>
  changeBodies(calls, (body) => ({ ...body, [name]: change(body[name] as readonly Fields[]) }));

const ADMINISTRATION: Readonly<Record<string, Control>> = {
  'listAgents.lists-all-registered-agents': {
    fault: 'A full agent is listed as not full.',
    plant: changeList(AGENTS, 'agents', (agents) => agents.map((agent) => ({ ...agent, full: false }))),
  },
  'listAgents.with-limit-it-returns': {
    fault: 'The agents in trouble come last.',
    plant: changeList(AGENTS, 'agents', (agents) => agents.toReversed()),
  },
  'getAgent.returns-an-agent-with': {
    fault: 'An agent has no pushes.',
    plant: changeList(AGENT, 'pushes', () => []),
  },
  'getOverview.returns-whether-tasks-run': {
    fault: 'The overview lacks problems.',
    plant: changeBodies(OVERVIEW, ({ problems: _, ...body }) => body),
  },
  'listTasks.lists-tasks-as-rows': {
    fault: 'Rows come oldest first.',
    plant: changeList(ROWS, 'tasks', (rows) => rows.toReversed()),
  },
  'listTasks.counts-without-a-filter': {
    fault: 'Counts are not complete.',
    plant: changeBodies(ROWS, (body) => ({ ...body, counts: { ...isPart(body.counts), complete: false } })),
  },
  'cancelTasks.cancels-the-pending-and': {
    fault: 'The filter is ignored but for a dry run.',
    plant: changeRequests(CANCEL_MANY, (body) => ({ ...body, dry_run: true })),
  },
  'cancelTasks.each-is-cancelled-as': {
    fault: 'The events of tasks that are cancelled together have another text.',
    plant: changeEvents((event) => (cancelled(event) ? { ...event, error_info: 'cancelled' } : event)),
  },
  'cancelTasks.safe-to-repeat': {
    fault: 'A repeat says that it cancelled once more.',
    plant: repeatResponses(CANCEL_MANY, (body) => JSON.stringify(body)),
  },
  'drainAgent.drains-an-agent-or': {
    fault: 'A drain does nothing.',
    plant: changeRequests(DRAIN, (body) => ({ ...body, draining: false })),
  },
  'drainAgent.neither-its-own-draining': {
    fault: 'A heartbeat of an agent that is drained says `ready`.',
    plant: changeBodies(HEARTBEAT, (body) =>
      body.state === 'draining' ? { ...body, state: 'ready' } : body,
    ),
  },
  'drainAgent.safe-to-repeat': {
    fault: 'What was sent before gets the same response, and nothing is done.',
    plant: repeatResponses(DRAIN, (body) => JSON.stringify(body)),
  },
};

/** The controls, by the requirement whose check must find the fault. */
export const OPERATION_CONTROLS: Readonly<Record<string, Control>> = {
  ...CLIENTS,
  ...AGENT_CALLS,
  ...ADMINISTRATION,
};
