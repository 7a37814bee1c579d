/** The checks of what the document says about the filters of lists and of cancellations (L1). */
import { read } from './admin-operation-checks.ts';
import { awaitWaiting, giveTask } from './awaited-tasks.ts';
import type { Check } from './check.ts';
import { type Fields, isFields, listOf, requireEqual } from './findings.ts';
import { type Kit, requireAdmin } from './kit.ts';
import { write } from './played-outputs.ts';
import { QUESTION } from './played-questions.ts';
import { requireObject, requireProblem } from './subject.ts';

const AGENTS = '/api/admin/agents';
const TASKS = '/api/admin/tasks';
/** Times this far apart differ by any clock. */
const DIFFERENT_SECONDS = 0.2;
const ERROR = 'the disk 12 is full';

type Query = Readonly<Record<string, string>>;

/** Makes tasks of one session, one in each of these states. */
async function manyTasks(kit: Kit) {
  const session = kit.name('session');
  const own = { cli_session_id: session };
  const agent = await kit.startAgent({ endpoint: 'pull' });
  const failed = await giveTask(kit, agent, own);
  requireObject(await kit.report(agent, failed, { status: 'failed', error_info: ERROR }));
  const waiting = requireObject(await kit.submit([kit.name('nowhere')], { queue_timeout: 60, ...own }));
  await awaitWaiting(kit, waiting.request_id);
  await kit.pause(DIFFERENT_SECONDS);
  const running = await giveTask(kit, agent, { ...own, task_type: kit.name('other') });
  const asking = await giveTask(kit, agent, own);
  requireObject(await write(kit, { agent, request_id: asking }, 'w', 0, [{ question: QUESTION }]));
  await kit.pause(DIFFERENT_SECONDS);
  const cancelled = await giveTask(kit, agent, own);
  requireObject(await kit.cancel(cancelled));
  const ids = { failed, waiting: waiting.request_id, running, asking, cancelled };
  const page = requireObject(await read(kit, TASKS, { session, counts: 'true' }));
  const rowOf = (id: unknown): Fields => listOf(page.tasks).find((row) => row.request_id === id) ?? {};
  return { session, agent, ids, page, rowOf };
}
type ManyTasks = Awaited<ReturnType<typeof manyTasks>>;
type Name = keyof ManyTasks['ids'];

/** Requires that a filter selects these tasks, newest first; in a cancellation only the open ones. */
function leaves(choose: (many: ManyTasks) => Query, names: readonly Name[]): Check {
  return async (kit) => {
    const many = await kit.see(manyTasks);
    const query = { session: many.session, ...choose(many) };
    const { tasks } = requireObject(await read(kit, TASKS, query));
    const seen = listOf(tasks).map(({ request_id }) => request_id);
    const expected = names.map((name) => many.ids[name]);
    requireEqual(seen, expected, `The tasks with ${JSON.stringify(query)}`);
  };
}

/** Requires that a cancellation's filter matches so many open tasks. */
function matches(filter: Fields, count: number): Check {
  return async (kit) => {
    const { session, ids } = await kit.see(manyTasks);
    const json = { filter: { session, ...filter }, created_before: 32_503_680_000, dry_run: true };
    const headers = { 'x-admin-auth': requireAdmin(kit) };
    const receipt = requireObject(await kit.subject.call('POST', `${TASKS}/cancel`, { json, headers }));
    requireEqual(receipt.matched, count, `\`matched\` with ${JSON.stringify(filter)}`);
    requireEqual((await kit.get(ids.waiting)).status, 'pending', '`status` of a task after a dry run');
  };
}

/** Starts an agent, and four of one tag: well, full, draining, and one that does not take its pushes. */
async function manyAgents(kit: Kit) {
  await kit.startAgent();
  const tag = kit.name('tag');
  const well = await kit.startAgent({ agent_tags: [tag] });
  const full = await kit.startAgent({ agent_tags: [tag], current_load: 10 });
  const draining = await kit.startAgent({ agent_tags: [tag] });
  requireObject(await kit.callAs(draining, 'heartbeat', { draining: true }));
  const own = kit.name('own');
  const failing = await kit.startAgent({ agent_tags: [tag, own] }, 404);
  const { request_id } = requireObject(await kit.submit([own]));
  await kit.until('a push fails', () => kit.pushesTo(failing)[0]);
  const task = requireObject(await kit.submit([tag]));
  await kit.until('an agent is failing', async () => {
    const { agents } = requireObject(await read(kit, AGENTS, { tag }));
    return listOf(agents).some((one) => one.failing === true) || undefined;
  });
  requireObject(await kit.cancel(request_id));
  requireObject(await kit.cancel(task.request_id));
  const agents = { well, full, draining, failing };
  const ids = Object.entries(agents).map(([name, { agent_id }]) => [name, agent_id] as const);
  return { tag, ids: Object.fromEntries(ids) as Record<keyof typeof agents, string> };
}
type ManyAgents = Awaited<ReturnType<typeof manyAgents>>;

/** Requires that a filter selects these agents. */
function leavesAgents(
  choose: (many: ManyAgents) => Query,
  names: readonly (keyof ManyAgents['ids'])[],
): Check {
  return async (kit) => {
    const many = await kit.see(manyAgents);
    const { agents } = requireObject(await read(kit, AGENTS, choose(many)));
    const seen = listOf(agents).map(({ agent_id }) => String(agent_id));
    const expected = names.map((name) => many.ids[name]).toSorted();
    requireEqual(seen.toSorted(), expected, 'The agents that are listed');
  };
}

export const FILTER_CHECKS: Readonly<Record<string, Check>> = {
  'fields.only-tasks-with-one-of-these-statuses-separated': async (kit) => {
    await leaves(() => ({ status: 'pending,failed' }), ['cancelled', 'waiting', 'failed'])(kit);
    const { page, rowOf, ids } = await kit.see(manyTasks);
    const { by_status } = isFields(page.counts) ? page.counts : {};
    requireEqual(by_status, { pending: 1, running: 2, success: 0, failed: 2 }, '`by_status`');
    requireEqual(rowOf(ids.waiting).agent_id, null, '`agent_id` of a task that never had one');
  },
  'fields.only-tasks-that-ended-in-one-of-these-ways-separated': leaves(
    () => ({ outcome: 'cancelled,timeout' }),
    ['cancelled'],
  ),
  'fields.true-only-tasks-that-wait-for-an-agent-false-only-those-that-do-not-ended': async (kit) => {
    await leaves(() => ({ waiting: 'true' }), ['waiting'])(kit);
    await leaves(() => ({ waiting: 'false' }), ['cancelled', 'asking', 'running', 'failed'])(kit);
  },
  'fields.true-only-tasks-that-wait-for-an-answer-the': async (kit) => {
    await leaves(() => ({ waiting_for_answer: 'true' }), ['asking'])(kit);
    await leaves(() => ({ waiting_for_answer: 'false' }), ['cancelled', 'running', 'waiting', 'failed'])(kit);
  },
  'fields.only-tasks-of-this-task': leaves(
    ({ rowOf, ids }) => ({ type: String(rowOf(ids.running).task_type) }),
    ['running'],
  ),
  'fields.only-tasks-with-this': leaves(
    ({ agent: { tag } }) => ({ tag }),
    ['cancelled', 'asking', 'running', 'failed'],
  ),
  'fields.only-tasks-of-this-cli': leaves(
    () => ({}),
    ['cancelled', 'asking', 'running', 'waiting', 'failed'],
  ),
  'fields.only-tasks-whose-agent': leaves(
    ({ agent: { agent_id } }) => ({ agent: agent_id }),
    ['cancelled', 'asking', 'running', 'failed'],
  ),
  'fields.only-tasks-whose-request': async (kit) => {
    await leaves(({ ids }) => ({ id: String(ids.asking) }), ['asking'])(kit);
    await leaves(({ ids }) => ({ id: String(ids.asking).slice(-12) }), ['asking'])(kit);
  },
  'fields.only-tasks-that-were-submitted-at': leaves(
    ({ rowOf, ids }) => ({ created_after: String(rowOf(ids.running).create_time) }),
    ['cancelled', 'asking', 'running'],
  ),
  'fields.only-tasks-that-were-submitted-before': leaves(
    ({ rowOf, ids }) => ({ created_before: String(rowOf(ids.running).create_time) }),
    ['waiting', 'failed'],
  ),
  'fields.of-the-last-500': leaves(
    ({ rowOf, ids }) => ({ ended_after: String(rowOf(ids.cancelled).ended_time) }),
    ['cancelled'],
  ),
  'fields.only-tasks-that-failed': leaves(() => ({ error: ERROR.replace('12', '7') }), ['failed']),
  'fields.only-tasks-with-one-of-these-statuses': matches({ status: ['pending'] }, 1),
  'fields.only-tasks-that-ended-in-one-of-these-ways-a': matches({ outcome: ['cancelled'] }, 0),
  'fields.true-only-tasks-that-wait-for-an-agent-false-only-those-that-do-not': matches({ waiting: true }, 1),
  'fields.true-only-tasks-that-wait-for-an-answer-false': matches({ waiting_for_answer: true }, 1),
  'fields.the-tasks-to-cancel': async (kit) => {
    const json = { request_ids: Array.from({ length: 1_001 }, (_, index) => `${kit.prefix}-${index}`) };
    const headers = { 'x-admin-auth': requireAdmin(kit) };
    const sent = await kit.subject.call('POST', `${TASKS}/cancel`, { json, headers });
    requireProblem(sent, 422, 'validation_failed', 'of 1,001 ids');
  },
  'fields.only-agents-in-this': leavesAgents(
    ({ tag }) => ({ tag, state: 'ready' }),
    ['well', 'full', 'failing'],
  ),
  'fields.only-agents-with-this': leavesAgents(
    ({ tag }) => ({ tag }),
    ['well', 'full', 'draining', 'failing'],
  ),
  'fields.only-agents-at-full': async (kit) => {
    await leavesAgents(({ tag }) => ({ tag, full: 'true' }), ['full'])(kit);
    await leavesAgents(({ tag }) => ({ tag, full: 'false' }), ['well', 'draining', 'failing'])(kit);
  },
  'fields.only-agents-that-do': leavesAgents(({ tag }) => ({ tag, failing: 'true' }), ['failing']),
  'fields.only-agents-whose-agent': leavesAgents(({ ids }) => ({ id: ids.full.toUpperCase() }), ['full']),
};
