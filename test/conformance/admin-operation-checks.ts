/** The checks of what the document says about the operations of administrators (L1). */
import { drain, giveTask, requireNoAgent } from './awaited-tasks.ts';
import type { Check } from './check.ts';
import { type Fields, isFields, listOf, requireEqual, requireThat } from './findings.ts';
import { type Kit, requireAdmin } from './kit.ts';
import * as scenario from './played-scenarios.ts';
import { type Answer, requireObject } from './subject.ts';

const AGENTS = '/api/admin/agents';
const TASKS = '/api/admin/tasks';

type Query = Readonly<Record<string, string>>;

/** Reads a path as the administrator. */
export function read(kit: Kit, path: string, query: Query = {}, more: Query = {}): Promise<Answer> {
  const headers = { 'x-admin-auth': requireAdmin(kit), ...more };
  return kit.subject.call('GET', path, { query, headers });
}

/** Submits tasks of one session that wait for an agent that never comes. Returns their ids. */
async function submitWaiting(kit: Kit, session: string, count: number): Promise<readonly unknown[]> {
  const ids: unknown[] = [];
  for (let task = 0; task < count; task += 1) {
    const more = { cli_session_id: session, queue_timeout: 60 };
    ids.push(requireObject(await kit.submit([kit.name('nowhere')], more)).request_id);
  }
  return ids;
}

/** Cancels many tasks as the administrator, and none that others submit. */
async function cancelMany(kit: Kit, named: Fields): Promise<Fields> {
  const json = { created_before: 32_503_680_000, ...named };
  const headers = { 'x-admin-auth': requireAdmin(kit) };
  return requireObject(await kit.subject.call('POST', `${TASKS}/cancel`, { json, headers }));
}

/** Returns where the document puts an agent on a page: agents that fail come first. */
function rankOf({ failing, state, running, full }: Fields): number {
  const isOffline = state === 'offline';
  const isFailing = failing === true && !isOffline;
  const hasTasks = isOffline && Number(running) > 0;
  const conditions = [isFailing, hasTasks, isOffline, full === true, state === 'draining'];
  const at = conditions.indexOf(true);
  return at < 0 ? conditions.length : at;
}

/** Starts agents of one tag: offline, with pushes that fail, full, draining, and two without trouble. */
async function inTrouble(kit: Kit) {
  const tag = kit.name('tag');
  const start = (more: Fields = {}, status = 202) => kit.startAgent({ agent_tags: [tag], ...more }, status);
  for (const _agent of [1, 2]) await start();
  requireObject(await kit.callAs(await start(), 'heartbeat', { draining: true }));
  await start({ current_load: 10 });
  const open: unknown[] = [];
  const troubled: string[] = [];
  for (const status of [410, 404]) {
    const own = kit.name('own');
    troubled.push((await start({ agent_tags: [tag, own] }, status)).agent_id);
    open.push(requireObject(await kit.submit([own])).request_id);
  }
  const page = await kit.until(
    'the listing has the agent that fails first, then the offline one',
    async () => {
      const answer = await read(kit, AGENTS, { tag, limit: '50' });
      const [first, second] = listOf(requireObject(answer).agents);
      const isShown = first?.agent_id === troubled[1] && second?.agent_id === troubled[0];
      return isShown && second?.state === 'offline' ? answer : undefined;
    },
  );
  for (const id of open) requireObject(await kit.cancel(id));
  return { tag, page };
}

/** Cancels two open tasks by their session, and again; then another task by its id. */
async function cancelledTogether(kit: Kit) {
  const session = kit.name('session');
  const stream = await kit.openStream(session);
  const ids = await submitWaiting(kit, session, 2);
  const [other] = await submitWaiting(kit, kit.name('session'), 1);
  const first = await cancelMany(kit, { filter: { session } });
  const again = await cancelMany(kit, { filter: { session } });
  const left = await kit.get(other);
  const named = await cancelMany(kit, { request_ids: [other, ids[0]] });
  const namedAgain = await cancelMany(kit, { request_ids: [other, ids[0]] });
  const events = await kit.until('both events are on the stream', () =>
    stream.events.length < ids.length ? undefined : stream.events.map(({ data }) => JSON.parse(data)),
  );
  const tasks = [await kit.get(ids[0]), await kit.get(ids[1]), await kit.get(other)];
  return { ids, first, again, left, named, namedAgain, events, tasks };
}

/** Gives a pull agent a task, drains it, drains it again, undrains it twice and drains it once more. */
async function drained(kit: Kit) {
  const agent = await kit.startAgent({ endpoint: 'pull' });
  const kept = await giveTask(kit, agent);
  const drains = [await drain(kit, agent)];
  const beaten = requireObject(await kit.callAs(agent, 'heartbeat', { draining: false }));
  const registered = requireObject(await kit.callAs(agent, 'register', agent.registration));
  await requireNoAgent(kit, [agent.tag], 'for an agent that is drained');
  const claimed = await kit.callAs(agent, 'claim');
  drains.push(await drain(kit, agent));
  const reported = requireObject(await kit.report(agent, kept, {}));
  const ends = [await drain(kit, agent, false), await drain(kit, agent, false)];
  const after = requireObject(await kit.callAs(agent, 'heartbeat'));
  await giveTask(kit, agent);
  drains.push(await drain(kit, agent));
  const last = requireObject(await kit.callAs(agent, 'heartbeat'));
  await drain(kit, agent, false);
  return { kept, drains, beaten, registered, claimed, reported, ends, after, last };
}

export const ADMIN_OPERATION_CHECKS: Readonly<Record<string, Check>> = {
  'listAgents.lists-all-registered-agents': async (kit) => {
    const agent = await kit.startAgent({ current_load: 10 });
    const { agents } = requireObject(await read(kit, AGENTS));
    const own = listOf(agents).find(({ agent_id }) => agent_id === agent.agent_id);
    const seen = [own?.agent_tags, own?.state, own?.full];
    requireEqual(seen, [[agent.tag], 'ready', true], 'The tags, the state and whether it is full');
  },
  'listAgents.with-limit-it-returns': async (kit) => {
    const { tag, page } = await kit.see(inTrouble);
    requireThat(page.headers.get('etag') !== null, 'The page has no `ETag`.');
    const agents = listOf(requireObject(page).agents);
    const ranked = agents.toSorted(
      (a, b) => rankOf(a) - rankOf(b) || (String(a.agent_id) < String(b.agent_id) ? -1 : 1),
    );
    const idsOf = (list: readonly Fields[]) => list.map(({ agent_id }) => agent_id);
    requireEqual(idsOf(agents), idsOf(ranked), 'The agents of a page');
    requireEqual(new Set(agents.map(rankOf)).size >= 4, true, 'That agents of four kinds are on it');
    const cut = requireObject(await read(kit, AGENTS, { tag, limit: '2' }));
    requireEqual(listOf(cut.agents).length, 2, 'The number of agents on a page of two');
    requireThat(typeof cut.next_cursor === 'string', 'A page that goes on lacks a `next_cursor`.');
  },
  'getAgent.returns-an-agent-with': async (kit) => {
    const agent = await kit.startAgent();
    const { request_id } = requireObject(await kit.submit([agent.tag]));
    const detail = await kit.until('the agent has its task and its push', async () => {
      const found = requireObject(await read(kit, `${AGENTS}/${agent.agent_id}`));
      return listOf(found.pushes).length > 0 ? found : undefined;
    });
    requireEqual(listOf(detail.slots)[0]?.request_id, request_id, '`request_id` of its task');
    const [push] = listOf(detail.pushes);
    requireEqual([push?.request_id, push?.status], [request_id, 202], 'Its last push');
    const { contact } = isFields(detail.activity) ? detail.activity : {};
    requireThat(contact !== undefined, 'It lacks its contact.');
    requireObject(await kit.cancel(request_id));
  },
  'getOverview.returns-whether-tasks-run': async (kit) => {
    // Then the overview has a group of failures.
    await kit.see(scenario.failedByAgent);
    const tag = kit.name('nowhere');
    const { request_id } = requireObject(await kit.submit([tag], { queue_timeout: 60 }));
    const overview = await kit.until('the overview shows the tag of a task that waits', async () => {
      const found = requireObject(await read(kit, '/api/admin/overview', { tags: '1000' }));
      return listOf(found.tags).some((one) => one.tag === tag) ? found : undefined;
    });
    requireObject(await kit.cancel(request_id));
    const { waiting, agents } = listOf(overview.tags).find((one) => one.tag === tag) ?? {};
    requireEqual([waiting, agents], [1, 0], 'The demand for the tag, and its agents');
    requireEqual(overview.window, 900, 'The seconds that it looks back');
  },
  'listTasks.lists-tasks-as-rows': async (kit) => {
    const session = kit.name('session');
    const ids = await submitWaiting(kit, session, 3);
    const query = { session, limit: '2', counts: 'true' };
    const page = requireObject(await read(kit, TASKS, query));
    const cursor = String(page.next_cursor);
    const next = requireObject(await read(kit, TASKS, { ...query, cursor }));
    const rows = [...listOf(page.tasks), ...listOf(next.tasks)];
    requireEqual(
      rows.map(({ request_id }) => request_id),
      ids.toReversed(),
      'The tasks of two pages, newest first',
    );
    const { total } = isFields(page.counts) ? page.counts : {};
    requireEqual([total, next.next_cursor], [3, null], 'The count, and the end');
    requireThat(
      rows.every((row) => 'payload_preview' in row && !('payload' in row)),
      'A row has a payload.',
    );
    for (const id of ids) requireObject(await kit.cancel(id));
  },
  'listTasks.counts-without-a-filter': async (kit) => {
    for (const query of [{}, { status: 'failed,success' }, { waiting: 'true' }, { outcome: 'cancelled' }]) {
      const answer = await read(kit, TASKS, { ...query, limit: '1', counts: 'true' });
      const { counts } = requireObject(answer);
      const { complete, total } = isFields(counts) ? counts : {};
      requireEqual(complete, true, `\`complete\` of counts by ${Object.keys(query)}`);
      requireThat(typeof total === 'number', '`total` must be a number.');
    }
  },
  'cancelTasks.cancels-the-pending-and': async (kit) => {
    const { first, left, named, tasks } = await kit.see(cancelledTogether);
    requireEqual([first.matched, first.cancelled], [2, 2], 'The tasks of a session that were cancelled');
    requireEqual(left.status, 'pending', '`status` of a task of another session');
    requireEqual([named.cancelled, named.already_ended], [1, 1], 'The tasks that were named');
    for (const { status } of tasks) requireEqual(status, 'failed', '`status`');
  },
  'cancelTasks.each-is-cancelled-as': async (kit) => {
    const { ids, events, tasks } = await kit.see(cancelledTogether);
    for (const { error_info } of [...tasks, ...events])
      requireEqual(error_info, 'cancelled by user', '`error_info`');
    const about = events.map(({ request_id }) => request_id);
    requireEqual(about.toSorted(), ids.toSorted(), 'The events of the session');
  },
  'cancelTasks.safe-to-repeat': async (kit) => {
    const { again, namedAgain, events, ids } = await kit.see(cancelledTogether);
    const repeat = [again.matched, again.cancelled, again.already_ended];
    requireEqual(repeat, [0, 0, 0], 'What a repeat cancels, and what had ended');
    requireEqual([namedAgain.cancelled, namedAgain.already_ended], [0, 2], 'What a repeat by ids cancels');
    requireEqual(events.length, ids.length, 'The number of events');
  },
  'drainAgent.drains-an-agent-or': async (kit) => {
    const { drains, reported, ends, after } = await kit.see(drained);
    const [first] = drains;
    requireEqual([first?.state, first?.drained_by_operator], ['draining', true], 'The agent that is drained');
    requireEqual(listOf(first?.slots).length, 1, 'How many tasks it has');
    requireEqual(reported.accepted, true, '`accepted` of its report');
    requireEqual([ends[0]?.state, ends[0]?.drained_by_operator], ['ready', false], 'The agent afterwards');
    requireEqual(after.state, 'ready', '`state` after the drain');
  },
  'drainAgent.neither-its-own-draining': async (kit) => {
    const { beaten, registered, claimed, kept } = await kit.see(drained);
    requireEqual(beaten.state, 'draining', '`state` after a heartbeat with `draining: false`');
    requireEqual(registered.state, 'draining', '`state` after a registration');
    requireEqual(claimed.headers.get('agent-state'), 'draining', '`Agent-State` of a claim');
    requireEqual(requireObject(claimed).request_id, kept, 'The task that it had');
  },
  'drainAgent.safe-to-repeat': async (kit) => {
    const { drains, ends, last } = await kit.see(drained);
    for (const { state } of drains) requireEqual(state, 'draining', '`state` of each drain');
    for (const { state } of ends) requireEqual(state, 'ready', '`state` of each end');
    requireEqual(last.state, 'draining', '`state` after the last drain');
  },
};
