/**
 * The two engines beside each other: the same random calls, commits of every shape among them, are answered alike, and
 * what is there afterwards is the same. What is the engine's own business (revisions, leases, which of several free
 * agents is named) is compared by whether it holds.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AgentStatus, Store } from '../../server/ports/store.ts';
import { demandRedis, REDIS_COMMANDS, type RedisProcess, startRedis } from '../harness/redis-process.ts';
import {
  AGENTS,
  type Chance,
  drawCommit,
  KEYS,
  pick,
  SESSIONS,
  type Side,
  TAGS,
  TASKS,
} from './alike-commits.ts';
import { createMemorySubject } from './embedded-under-test.ts';
import { createRedisSubject } from './redis-under-test.ts';
import { createChance, drawSeed, idsOf, readFeed, type Subject } from './store-under-test.ts';

demandRedis('the engines beside each other');

/** How many lives of so many steps; `ALIKE_RUNS` asks for more, `ALIKE_SEED` for one again. */
const RUNS = Number(process.env.ALIKE_RUNS ?? 25);
const STEPS = 60;

let redis: RedisProcess;
beforeAll(async () => {
  redis = await startRedis(['--appendonly', 'no']);
});
afterAll(() => redis.dispose());

test.runIf(REDIS_COMMANDS.length > 0)(
  `answer ${RUNS} lives of random calls alike`,
  { timeout: 60_000 + RUNS * 5_000 },
  async () => {
    const first = Number(process.env.ALIKE_SEED ?? drawSeed());
    let taken = 0;
    let refused = 0;
    for (let run = 0; run < RUNS; run += 1) {
      const told = await live(first + run);
      taken += told.taken;
      refused += told.refused;
    }
    // Lives in which everything is refused, or nothing, say little.
    expect(taken).toBeGreaterThan(RUNS * 5);
    expect(refused).toBeGreaterThan(RUNS * 5);
  },
);

async function live(seed: number): Promise<{ readonly taken: number; readonly refused: number }> {
  const chance = createChance(seed);
  const sides = [
    await createSide(await createMemorySubject()),
    await createSide(await createRedisSubject(redis, 'memory')),
  ];
  const settled = new Set<string>();
  const events = new Map<string, number>();
  let taken = 0;
  let refused = 0;
  try {
    for (let step = 0; step < STEPS; step += 1) {
      const where = `seed ${seed}, step ${step}`;
      const draw = chance.next(10);
      if (draw < 6) {
        const plan = drawCommit(chance, settled);
        const outcomes = await both(sides, async (side) => {
          const outcome = await side.store.commit(plan.batchFor(side));
          if (outcome.ok) noteRevision(side, plan.writes, outcome.revision);
          return outcome.ok ? 'ok' : outcome.conflict;
        });
        expect(outcomes[1], `${where}: ${JSON.stringify(plan.writes)}`).toEqual(outcomes[0]);
        if (outcomes[0] !== 'ok') refused += 1;
        else {
          taken += 1;
          for (const id of plan.settles) settled.add(id);
          if (plan.session !== null) events.set(plan.session, (events.get(plan.session) ?? 0) + 1);
        }
      } else await callBoth(sides, chance, draw, where);
      expect(await describe(sides[1]), where).toEqual(await describe(sides[0]));
    }
    for (const [session, count] of events) {
      const [left, right] = await both(sides, async ({ store }) =>
        idsOf(await readFeed(store, session, null, count)),
      );
      expect(right, `seed ${seed}`).toEqual(left);
    }
    await both(sides, async ({ subject, store }) => {
      await subject.advance(50_000);
      while ((await store.trim({ keepTasksMs: 10_000, sessionEventsMax: 2 }, 7)) > 0);
    });
    expect(await describe(sides[1]), `seed ${seed}, trimmed`).toEqual(await describe(sides[0]));
    return { taken, refused };
  } finally {
    for (const { subject } of sides) await subject.dispose();
  }
}

async function createSide(subject: Subject): Promise<Side> {
  return { subject, store: await subject.open(), revisions: new Map(), leases: new Map() };
}

async function both<T>(sides: readonly Side[], work: (side: Side) => Promise<T>): Promise<readonly T[]> {
  const answers: T[] = [];
  for (const side of sides) answers.push(await work(side));
  return answers;
}

function noteRevision(side: Side, writes: readonly { kind: string; id: string }[], revision: string): void {
  for (const { kind, id } of writes) {
    const known = side.revisions.get(`${kind} ${id}`) ?? [];
    side.revisions.set(`${kind} ${id}`, [revision, ...known]);
  }
}

async function callBoth(sides: readonly Side[], chance: Chance, draw: number, where: string): Promise<void> {
  const ms = pick(chance, [1, 10, 400, 1_500, 6_000]);
  const agent_id = pick(chance, AGENTS);
  const touch = pick(chance, [
    { by: 'beat' },
    { by: 'call' },
    { by: 'register' },
    { by: 'push', taken: true, status: 202, error: null },
    { by: 'push', taken: false, status: null, error: 'refused' },
  ] as const);
  const [left, right] = await both(sides, async ({ subject, store, leases }): Promise<unknown> => {
    if (draw === 6) return await subject.advance(ms);
    if (draw === 7) return tellStanding(await store.touch(agent_id, touch));
    if (draw === 8) return await store.renewLeases([...leases].map(([ref, lease]) => ({ ref, lease })));
    const taken = await store.takeDue(100);
    for (const { ref, lease } of taken) leases.set(ref, lease);
    return taken.map(({ ref }) => ref).sort();
  });
  expect(right, where).toEqual(left);
}

/** How an agent stands, but its revision. */
function tellStanding(one: AgentStatus | undefined): unknown {
  return (
    one && [
      one.record,
      one.slots,
      one.lastGrantMs,
      one.contact.beatMs,
      one.contact.beatGapMs,
      one.contact.push,
    ]
  );
}

/** Everything a caller can see, but what each engine names in its own way. */
async function describe(side: Side | undefined): Promise<unknown> {
  if (!side) throw new Error('two sides');
  const { store } = side;
  const list = async (...[query, ask]: readonly [Parameters<Store['list']>[0], object]): Promise<unknown> => {
    const { items } = await store.list(query, ask as never, { limit: 50 });
    return items.map((item) => ('request_id' in item ? item.request_id : item.record.agent_id));
  };
  const standings = await Promise.all(AGENTS.map((id) => store.getAgentStatus(id)));
  return {
    tasks: await Promise.all(TASKS.map(async (id) => (await store.get('task', id))?.value)),
    inputs: await Promise.all(KEYS.map(async (id) => (await store.get('input', id))?.value)),
    keys: await Promise.all(KEYS.map(async (id) => (await store.get('key', id))?.value)),
    standings: standings.map(tellStanding),
    changed: (await store.readAgentChanges(null)).changed.map(({ record }) => record.agent_id).sort(),
    all: await list('tasks', {}),
    bySession: await Promise.all(SESSIONS.map((session) => list('tasks', { session }))),
    byAgent: await Promise.all(AGENTS.map((agent_id) => list('tasks', { agent_id }))),
    waiting: await Promise.all([TAGS, ...TAGS.map((tag) => [tag])].map((tags) => list('waiting', { tags }))),
    slots: await Promise.all(AGENTS.map((agent_id) => list('slots', { agent_id }))),
    unreported: await Promise.all(AGENTS.map((agent_id) => list('unreported', { agent_id }))),
    agents: await list('agents', {}),
  };
}
