/** The checks of what the document says about the operations of clients (L1). */
import type { Check } from './check.ts';
import { type Fields, isFields, requireEqual, requireThat } from './findings.ts';
import { type Kit, requireAdmin } from './kit.ts';
import * as scenario from './played-scenarios.ts';
import { type EventStream, requireObject, requireProblem } from './subject.ts';

const TASKS = '/api/cli/tasks';
/** How long a stream that has had its event is watched. */
const OPEN_MS = 1_500;
const FIELDS = [
  'request_id',
  'task_type',
  'task_tags',
  'payload',
  'status',
  'agent_id',
  'cli_session_id',
  'create_time',
  'timeout',
  'progress',
  'result',
  'error_info',
];

/** Submits a task that waits for an agent that never comes. */
async function waiting(kit: Kit, more: Fields = {}): Promise<Fields> {
  return requireObject(await kit.submit([kit.name('nowhere')], { queue_timeout: 60, ...more }));
}

/** Opens a stream again with an event's id, as a browser does. */
function reopen(kit: Kit, session: string, id: string): Promise<EventStream> {
  const query = { cli_session_id: session, auth: kit.auth };
  return kit.subject.openStream(query, { 'last-event-id': id });
}

/** Waits until a stream has this many events. Returns the tasks of the first ones. */
function tasksOf(kit: Kit, { events }: EventStream, count: number): Promise<readonly unknown[]> {
  return kit.until(`${count} events are on the stream`, () =>
    events.length < count ? undefined : events.slice(0, count).map(({ data }) => JSON.parse(data).request_id),
  );
}

/** Ends tasks of one session, oldest first, and lets a reader come afterwards. */
async function endedBefore(kit: Kit) {
  const session = kit.name('session');
  const ids: unknown[] = [];
  for (const _task of [1, 2, 3]) {
    const { request_id } = await waiting(kit, { cli_session_id: session });
    requireObject(await kit.cancel(request_id));
    requireEqual((await kit.get(request_id)).status, 'failed', '`status` of a task that was cancelled');
    ids.push(request_id);
  }
  const stream = await kit.openStream(session);
  const seen = await tasksOf(kit, stream, ids.length);
  return { session, ids, stream, seen };
}

/** Requires that a call is accepted with only the administrator's secret. */
export async function requireForAdmin(
  kit: Kit,
  method: string,
  path: string,
  json?: Fields,
): Promise<Fields> {
  const headers = { 'x-admin-auth': requireAdmin(kit) };
  return requireObject(await kit.subject.call(method, path, { headers, json }));
}

export const CLIENT_OPERATION_CHECKS: Readonly<Record<string, Check>> = {
  'previewMatch.returns-which-agents-would': async (kit) => {
    const agent = await kit.startAgent();
    const full = await kit.startAgent({ agent_tags: [agent.tag], max_concurrent: 0 });
    const preview = { auth: kit.auth, task_tags: [agent.tag] };
    const { match } = requireObject(await kit.subject.call('POST', '/api/cli/match', { json: preview }));
    const agents = isFields(match) && Array.isArray(match.agents) ? match.agents : [];
    const ours = [agent.agent_id, full.agent_id];
    const seen = agents.filter((one) => ours.includes(one.agent_id)).map((one) => one.eligible);
    requireEqual(seen, [true, false], '`eligible` of an agent and of one that is full');
    requireEqual(kit.pushesTo(agent).length, 0, 'The number of pushes of a preview');
    const { request_id } = await waiting(kit);
    const explained = (await kit.explain(request_id)).match;
    requireEqual(
      Object.keys(isFields(match) ? match : {}).toSorted(),
      Object.keys(isFields(explained) ? explained : {}).toSorted(),
      'The fields of `match`, beside those of explainTask',
    );
  },
  'previewMatch.the-administrator-s-secret': async (kit) => {
    const { hint } = await requireForAdmin(kit, 'POST', '/api/cli/match', { task_tags: [kit.prefix] });
    requireThat(typeof hint === 'string', 'The preview lacks a `hint`.');
  },
  'submitTask.submits-a-task-and': async (kit) => {
    const { fresh, running } = await kit.see(scenario.succeeded);
    requireEqual([fresh.status, fresh.agent_id], ['pending', null], 'The task for a free agent');
    requireThat(running.agent_id !== null, 'It has no agent.');
  },
  'submitTask.matching-follows-immediately': async (kit) => {
    const { fresh } = await kit.see(scenario.succeeded);
    const { assigned_time } = await kit.explain(fresh.request_id);
    const seconds = Number(assigned_time) - Number(fresh.create_time);
    requireThat(seconds >= 0 && seconds < 1, `It had an agent after ${seconds} s; must be at once.`);
  },
  'submitTask.the-task-s-event': async (kit) => {
    const { expected, seen } = await kit.see(scenario.replayed);
    requireEqual(seen, expected, 'The events before and after the subscription');
  },
  'submitTask.a-repeat-with-the': async (kit) => {
    const session = kit.name('session');
    const same = { task_type: 'x', cli_session_id: session };
    const submit = () => kit.submit([kit.prefix], same, { 'idempotency-key': session });
    const first = requireObject(await submit());
    const stream = await kit.openStream(session);
    await tasksOf(kit, stream, 1);
    requireEqual(requireObject(await submit()), first, 'The response to a repeat after the end');
    const last = requireObject(await kit.submit([kit.prefix], same)).request_id;
    requireEqual(await tasksOf(kit, stream, 2), [first.request_id, last], 'The tasks of the session');
  },
  'submitTask.without-the-header-every': async (kit) => {
    const same = { task_type: 'x', cli_session_id: kit.name('session') };
    const ids = [];
    for (const _call of [1, 2]) ids.push(requireObject(await kit.submit([], same)).request_id);
    requireThat(ids[0] !== ids[1], 'Two equal submissions are one task.');
  },
  'getTask.returns-a-task': async (kit) => {
    const { done, fresh } = await kit.see(scenario.succeeded);
    for (const task of [fresh, done]) {
      const missing = FIELDS.filter((field) => !(field in task));
      requireEqual(missing, [], 'The fields that a task lacks');
    }
  },
  'getTask.with-wait-the-response': async (kit) => {
    const { request_id, create_time } = await waiting(kit);
    const read = async (wait: string) =>
      requireObject(
        await kit.subject.call('GET', `${TASKS}/${request_id}`, { query: { auth: kit.auth, wait } }),
      );
    requireEqual((await read('0.6')).status, 'pending', '`status` when the time is over');
    // The kit measures by the gateway's own clock.
    const seconds = Number((await waiting(kit)).create_time) - Number(create_time);
    requireThat(seconds > 0.5, `The response to \`wait\` 0.6 came after ${seconds} s.`);
    const [end, cancel] = await Promise.all([read('30'), kit.cancel(request_id)]);
    requireObject(cancel);
    requireEqual(end.error_info, 'cancelled by user', '`error_info` when it has ended');
  },
  'getTask.safe-to-repeat': async (kit) => {
    const { request_id } = await waiting(kit);
    const first = await kit.get(request_id);
    requireEqual(first.status, 'pending', '`status`');
    requireEqual(await kit.get(request_id), first, 'The task when it is read again');
  },
  'getTask.the-administrator-s-secret': async (kit) => {
    const { done } = await kit.see(scenario.unmatched);
    requireEqual(await requireForAdmin(kit, 'GET', `${TASKS}/${done.request_id}`), done, 'The task');
  },
  'cancelTask.cancels-a-pending-or': async (kit) => {
    const session = kit.name('session');
    const { request_id } = await waiting(kit, { cli_session_id: session });
    const stream = await kit.openStream(session);
    requireObject(await kit.cancel(request_id));
    requireEqual(await tasksOf(kit, stream, 1), [request_id], 'The events of a pending task');
    const running = await kit.see(scenario.cancelled);
    for (const { status, error_info } of [await kit.get(request_id), running.done, running.event])
      requireEqual([status, error_info], ['failed', 'cancelled by user'], 'The task');
  },
  'cancelTask.no-body-is-needed': async (kit) => {
    for (const body of [{}, { body: '{' }]) {
      const { request_id } = await waiting(kit);
      const path = `${TASKS}/${request_id}/cancel`;
      const answer = await kit.subject.call('POST', path, { query: { auth: kit.auth }, ...body });
      requireEqual(requireObject(answer), { ok: true, request_id }, 'The response');
    }
  },
  'cancelTask.the-agent-finds-the': async (kit) => {
    const agent = await kit.startAgent({ endpoint: 'pull' });
    const { request_id } = requireObject(await kit.submit([agent.tag]));
    requireObject(await kit.callAs(agent, 'claim', { wait: 5 }));
    requireObject(await kit.cancel(request_id));
    const beat = requireObject(await kit.callAs(agent, 'heartbeat', { request_ids: [request_id] }));
    requireEqual(beat.cancelled_request_ids, [request_id], '`cancelled_request_ids`');
  },
  'cancelTask.a-terminal-task-is': async (kit) => {
    const { second, done, after } = await kit.see(scenario.cancelled);
    requireProblem(second, 400, 'task_terminal', 'of a task that has ended');
    requireEqual(after, done, 'The task after a second cancel');
  },
  'explainTask.explains-a-task-what': async (kit) => {
    const { fresh } = await kit.see(scenario.unmatched);
    const { history, match, hint, remedies } = await kit.explain(fresh.request_id);
    const events = Array.isArray(history) ? history.map(({ event }) => event) : [];
    requireEqual([events[0], events.at(-1)], ['submitted', 'no_agent'], 'The ends of `history`');
    requireThat(isFields(match), 'It must have a `match`.');
    requireThat(
      typeof hint === 'string' && Array.isArray(remedies) && remedies.length > 0,
      'It must have a `hint` and `remedies`.',
    );
  },
  'explainTask.it-changes-nothing': async (kit) => {
    const { request_id } = (await kit.see(scenario.unmatched)).done;
    const before = await kit.get(request_id);
    const [first, second] = [await kit.explain(request_id), await kit.explain(request_id)];
    requireThat(Array.isArray(first.history), 'The explanation lacks its `history`.');
    requireEqual(second.history, first.history, '`history` when it is explained again');
    requireEqual(await kit.get(request_id), before, 'The task that was explained');
  },
  'explainTask.the-administrator-s-secret': async (kit) => {
    const { done } = await kit.see(scenario.unmatched);
    const explained = await requireForAdmin(kit, 'GET', `${TASKS}/${done.request_id}/explain`);
    requireEqual(explained.request_id, done.request_id, '`request_id`');
  },
  'subscribeEvents.streams-the-task-done': async (kit) => {
    const { session, ids, stream } = await kit.see(endedBefore);
    requireEqual(stream.status, 200, 'The status of a stream');
    const live = await waiting(kit, { cli_session_id: session });
    requireObject(await kit.cancel(live.request_id));
    const seen = await tasksOf(kit, stream, ids.length + 1);
    requireEqual(seen, [...ids, live.request_id], 'The events, stored ones and then a live one');
  },
  'subscribeEvents.the-stream-stays-open': async (kit) => {
    const { stream } = await kit.see(scenario.failedByAgent);
    await new Promise((resolve) => setTimeout(resolve, OPEN_MS));
    requireThat(stream.isOpen(), 'The gateway ended the stream shortly after an event.');
  },
  'subscribeEvents.a-reader-that-comes': async (kit) => {
    const { ids, seen } = await kit.see(endedBefore);
    requireEqual(seen, ids, 'The events for a reader that comes late');
  },
  'subscribeEvents.the-response-is-never': async (kit) => {
    const query = { cli_session_id: kit.name('session'), auth: kit.auth };
    const stream = await kit.subject.openStream(query, { 'accept-encoding': 'gzip, br' });
    stream.close();
    const seen = ['cache-control', 'x-accel-buffering', 'content-encoding'].map((name) =>
      stream.headers.get(name),
    );
    requireEqual(seen, ['no-store, no-transform', 'no', null], 'Caching, buffering and encoding');
  },
  'subscribeEvents.after-a-disconnect-reconnect': async (kit) => {
    const { session, ids, stream } = await kit.see(endedBefore);
    const again = await reopen(kit, session, stream.events[0]?.id ?? '');
    const seen = await tasksOf(kit, again, ids.length - 1);
    requireEqual(seen, ids.slice(1), 'The events after the first id');
  },
  'subscribeEvents.with-an-id-unknown': async (kit) => {
    const { session, ids } = await kit.see(endedBefore);
    const again = await reopen(kit, session, kit.name('id'));
    requireEqual(await tasksOf(kit, again, ids.length), ids, 'The events after an unknown id');
  },
};
