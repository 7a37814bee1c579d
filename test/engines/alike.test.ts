/**
 * Compares the engines: the same random calls, commits of every shape among them, give equal results and
 * leave equal data. What each engine chooses itself (revisions, leases, which of several free agents it
 * names) is not compared directly: later calls use it, and their results must be equal.
 * @module-tag redis
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { OUTCOMES } from '../../server/domain/history-record.ts';
import { type AgentStatus, type Demand, type Store, StoreUnavailable } from '../../server/ports/store.ts';
import { type RedisProcess, startRedis } from '../harness/redis-process.ts';
import {
  AGENTS,
  drawAppend,
  drawCommit,
  KEYS,
  noteCommitted,
  type PlannedCommit,
  pick,
  type Random,
  SESSIONS,
  type Side,
  TAGS,
  TASKS,
} from './alike-commits.ts';
import { readPieces } from './output-calls.ts';
import { createPlainStoreUnderTest } from './plain-under-test.ts';
import { createRedisSubject } from './redis-under-test.ts';
import { createThreadSubject } from './sqlite-under-test.ts';
import { createRandom, drawSeed, idsOf, readFeed, type StoreUnderTest } from './store-under-test.ts';

/** How many runs of this many steps; `ALIKE_RUNS` asks for more runs, `ALIKE_SEED` repeats one. */
const RUNS = Number(process.env.ALIKE_RUNS ?? 25);
const STEPS = 60;
const FAILURES = OUTCOMES.filter((outcome) => outcome !== 'success');
const OPEN = [true, 'pending', 'running'] as const;

let redis: RedisProcess;
beforeAll(async () => {
  redis = await startRedis(['--appendonly', 'no']);
});
afterAll(() => redis.dispose());

test(`the engines give equal results in ${RUNS} runs of random calls`, {
  timeout: 240_000 + RUNS * 5_000,
}, async () => {
  const first = Number(process.env.ALIKE_SEED ?? drawSeed());
  let commits = 0;
  let conflicts = 0;
  for (let run = 0; run < RUNS; run += 1) {
    const counts = await compareEngines(first + run);
    commits += counts.commits;
    conflicts += counts.conflicts;
  }
  // Runs in which every commit conflicts, or none does, compare little. A run has eight commits in the mean.
  expect(commits).toBeGreaterThan(RUNS * 2);
  expect(conflicts).toBeGreaterThan(RUNS * 2);
});

type Counts = { commits: number; conflicts: number };

async function compareEngines(seed: number): Promise<Counts> {
  const random = createRandom(seed);
  const sides = [
    await createSide(await createPlainStoreUnderTest()),
    await createSide(await createThreadSubject()),
    await createSide(await createRedisSubject(redis, 'memory')),
  ];
  const settled = new Set<string>();
  const events = new Map<string, number>();
  const counts: Counts = { commits: 0, conflicts: 0 };
  try {
    for (let step = 0; step < STEPS; step += 1) {
      const where = `seed ${seed}, step ${step}`;
      const draw = random.next(13);
      if (draw < 6) {
        const planned = drawCommit(random, settled);
        const isCommitted = await commitOnEach(sides, planned, where);
        if (!isCommitted) counts.conflicts += 1;
        else {
          counts.commits += 1;
          for (const id of planned.settles) settled.add(id);
          if (planned.session !== null) events.set(planned.session, (events.get(planned.session) ?? 0) + 1);
        }
      } else await callEach(sides, random, draw, where);
      if (step === STEPS / 2) await trimEach(sides, { keepTasksMs: 100_000, outputBytesMax: 9_000 });
      await compareData(sides, where);
    }
    await compareFeeds(sides, events, `seed ${seed}`);
    await trimEach(sides, { keepTasksMs: 100_000, outputBytesMax: 3_000 });
    await compareData(sides, `seed ${seed}, without output`);
    await onEach(sides, ({ underTest }) => underTest.advance(50_000));
    await trimEach(sides, { keepTasksMs: 10_000, outputBytesMax: 2 ** 28 });
    await compareData(sides, `seed ${seed}, trimmed`);
    return counts;
  } finally {
    for (const { underTest } of sides) await underTest.dispose();
  }
}

async function trimEach(
  sides: readonly Side[],
  retention: { readonly keepTasksMs: number; readonly outputBytesMax: number },
): Promise<void> {
  await onEach(sides, async ({ store }) => {
    while ((await store.trim({ sessionEventsMax: 2, ...retention }, 7)) > 0);
  });
}

/** Whether the engines committed; fails when their results differ. */
async function commitOnEach(sides: readonly Side[], planned: PlannedCommit, where: string): Promise<boolean> {
  const [first] = await compare(sides, `${where}: ${JSON.stringify(planned.writes)}`, async (side) => {
    const batch = planned.buildBatch(side);
    const result = await side.store.commit(batch).catch(nameError);
    if (typeof result === 'string') return result;
    if (result.ok) noteCommitted(side, batch, result.revision);
    return result.ok ? JSON.stringify(result.output ?? 'ok') : result.conflict;
  });
  return first === '"ok"' || first?.startsWith('{') === true;
}

async function compareFeeds(
  sides: readonly Side[],
  events: ReadonlyMap<string, number>,
  where: string,
): Promise<void> {
  for (const [session, count] of events) {
    await compare(sides, where, async ({ store }) => idsOf(await readFeed(store, session, null, count)));
  }
}

async function createSide(underTest: StoreUnderTest): Promise<Side> {
  return {
    underTest,
    store: await underTest.open(),
    revisions: new Map(),
    states: new Map(),
    leases: new Map(),
  };
}

/** The results of the same work on each engine, one after the other. */
async function onEach<T>(sides: readonly Side[], work: (side: Side) => Promise<T>): Promise<readonly T[]> {
  const results: T[] = [];
  for (const side of sides) results.push(await work(side));
  return results;
}

/** The same, and fails when they differ. */
async function compare<T>(
  sides: readonly Side[],
  where: string,
  work: (side: Side) => Promise<T>,
): Promise<readonly T[]> {
  const results = await onEach(sides, work);
  for (const [index, result] of results.entries())
    expect(result, `${where}, engine ${index} beside the first`).toEqual(results[0]);
  return results;
}

async function compareData(sides: readonly Side[], where: string): Promise<void> {
  await compare(sides, where, readEverything);
}

async function callEach(sides: readonly Side[], random: Random, draw: number, where: string): Promise<void> {
  const ms = pick(random, [1, 10, 400, 1_500, 6_000]);
  const agent_id = pick(random, AGENTS);
  const touch = pick(random, [
    { by: 'beat' },
    { by: 'call' },
    { by: 'push', taken: true, status: 202, error: null },
    { by: 'push', taken: false, status: null, error: 'refused' },
    { by: 'push', taken: false, busy: true, status: 503, error: 'busy' },
  ] as const);
  const append = drawAppend(random);
  await compare(sides, where, async ({ underTest, store, leases }): Promise<unknown> => {
    if (draw > 9) return await store.appendOutput(append).catch(nameError);
    if (draw === 6) return await underTest.advance(ms);
    if (draw === 7)
      return [await store.touch(agent_id, touch), describeStatus(await store.getAgentStatus(agent_id))];
    if (draw === 8) return await store.renewLeases([...leases].map(([ref, lease]) => ({ ref, lease })));
    const taken = await store.takeDue(100);
    for (const { ref, lease } of taken) leases.set(ref, lease);
    return taken.map(({ ref }) => ref).sort();
  });
}

/** A store that removes output of settled tasks takes none meanwhile. */
function nameError(error: unknown): string {
  if (error instanceof StoreUnavailable) return error.message;
  throw error;
}

/** An agent's status without its revision. */
function describeStatus(status: AgentStatus | undefined): unknown {
  if (!status) return undefined;
  const { record, slots, lastGrantMs, contact } = status;
  const { contactMs: _, ...others } = contact;
  return [record, slots, lastGrantMs, others];
}

/** The tags that tasks wait for come in any order. */
function sortTags(counts: Demand): Demand {
  return { ...counts, tags: [...counts.tags].sort((a, b) => (a.tag < b.tag ? -1 : 1)) };
}

/** Everything a caller can read, without what each engine chooses itself. */
async function readEverything({ store }: Side): Promise<unknown> {
  const list = async (
    ...[query, filter]: readonly [Parameters<Store['list']>[0], object]
  ): Promise<unknown> => {
    const { items } = await store.list(query, filter as never, { limit: 50 });
    return items.map(({ request_id }) => request_id);
  };
  const statuses = await Promise.all(AGENTS.map((id) => store.getAgentStatus(id)));
  return {
    tasks: await Promise.all(TASKS.map(async (id) => (await store.get('task', id))?.value)),
    details: await Promise.all(TASKS.map(async (id) => (await store.get('details', id))?.value)),
    inputs: await Promise.all(KEYS.map(async (id) => (await store.get('input', id))?.value)),
    outputs: await Promise.all(TASKS.map((id) => readPieces(store, id))),
    pages: await Promise.all(
      TASKS.map(async (id) => ({ ...(await store.readOutput(id, 2, 3)), revision: '' })),
    ),
    keys: await Promise.all(KEYS.map(async (id) => (await store.get('key', id))?.value)),
    statuses: statuses.map(describeStatus),
    changed: (await store.readAgentChanges(null)).changed.map(({ record }) => record.agent_id).sort(),
    all: await list('tasks', {}),
    bySession: await Promise.all(SESSIONS.map((session) => list('tasks', { session }))),
    byAgent: await Promise.all(AGENTS.map((agent_id) => list('tasks', { agent_id }))),
    waiting: await Promise.all([TAGS, ...TAGS.map((tag) => [tag])].map((tags) => list('waiting', { tags }))),
    anyWaiting: await list('waiting', {}),
    open: await Promise.all(OPEN.map((open) => list('tasks', { open }))),
    byOutcome: await Promise.all(FAILURES.map((outcome) => list('tasks', { outcome }))),
    ofSomeTime: await list('tasks', { fromMs: 11, toMs: 13 }),
    activity: await store.readActivity(),
    ended: await store.readEnded(),
    counts: sortTags(await store.readCounts(50)),
    slots: await Promise.all(AGENTS.map((agent_id) => list('slots', { agent_id }))),
    unreported: await Promise.all(AGENTS.map((agent_id) => list('unreported', { agent_id }))),
  };
}
