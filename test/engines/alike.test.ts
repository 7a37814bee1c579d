/**
 * The two engines beside each other: the same random calls, commits of every shape among them, are answered alike, and
 * what is there afterwards is the same. What is the engine's own business (revisions, leases, which of several free
 * agents is named) is compared by whether it holds.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Batch, DueChange, Lease, Ref, Store, Write } from '../../server/ports/store.ts';
import { demandRedis, REDIS_COMMANDS, type RedisProcess, startRedis } from '../fakes/redis-process.ts';
import { createMemorySubject } from './embedded-subject.ts';
import { createRedisSubject } from './redis-subject.ts';
import {
  buildAgent,
  buildInput,
  buildState,
  createChance,
  drawSeed,
  idsOf,
  readFeed,
  type Subject,
} from './subject.ts';

demandRedis('the engines beside each other');

/** How many lives of so many steps; `ALIKE_RUNS` asks for more, `ALIKE_SEED` for one again. */
const RUNS = Number(process.env.ALIKE_RUNS ?? 25);
const STEPS = 60;

type Chance = ReturnType<typeof createChance>;
/** An engine with what it alone knows: its revisions, its leases. */
type Side = {
  readonly subject: Subject;
  readonly store: Store;
  readonly revisions: Map<string, string[]>;
  readonly leases: Map<Ref, Lease>;
};

const TASKS = Array.from({ length: 10 }, (_, index) => `t${index}`);
const AGENTS = ['A0', 'A1', 'A2'];
const TAGS = ['a', 'b', 'c'];
const SESSIONS = ['s0', 's1', ''];
const KEYS = ['k0', 'k1'];
const REFS: readonly Ref[] = [
  ...TASKS.map((id) => `task:${id}` as const),
  ...AGENTS.map((id) => `agent:${id}` as const),
];

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

const pick = <T>(chance: Chance, of: readonly [T, ...T[]] | readonly T[]): T => {
  const found = of[chance.next(of.length)];
  if (found === undefined) throw new Error('nothing to pick from');
  return found;
};
const isDrawn = (chance: Chance, outOf: number): boolean => chance.next(outOf) === 0;
const some = <T>(chance: Chance, of: readonly T[]): readonly T[] => of.filter(() => chance.next(2) === 0);

/** What a commit expects, in words: each side fills in what it knows. */
type Expected = 'absent' | 'any' | 'last' | 'older';
type PlannedWrite = {
  readonly kind: Write['kind'];
  readonly id: string;
  readonly expected: Expected;
  readonly write: (expect: string, store: Store) => Write;
};
type Plan = {
  readonly writes: readonly PlannedWrite[];
  readonly settles: readonly string[];
  readonly session: string | null;
  batchFor(side: Side): Batch;
};

function drawCommit(chance: Chance, settled: ReadonlySet<string>): Plan {
  const writes: PlannedWrite[] = [];
  let more: Partial<Batch> = {};
  const settles: string[] = [];
  let session: string | null = null;
  if (isDrawn(chance, 2)) {
    const id = pick(chance, TASKS);
    const ends = isDrawn(chance, 3);
    const tags = [pick(chance, TAGS)];
    const of = pick(chance, SESSIONS);
    const waits = !ends && isDrawn(chance, 3);
    writes.push(drawTask(chance, { id, settled: settled.has(id), ends, tags, session: of, waits }));
    if (ends) settles.push(id);
    if (ends && of !== '') {
      session = of;
      more = { ...more, event: { session: of, request_id: id } };
    }
    if (ends && isDrawn(chance, 3))
      more = { ...more, unreported: { agentId: pick(chance, AGENTS), request_id: id } };
    if (waits) more = { ...more, wait: { op: 'join', request_id: id, tags, sinceMs: chance.next(50) } };
    else if (!ends && isDrawn(chance, 3))
      more = { ...more, wait: { op: 'leave', request_id: id, tags, sinceMs: 1 } };
  }
  if (isDrawn(chance, 3)) writes.push(drawAgent(chance));
  if (isDrawn(chance, 8)) writes.push(drawKey(chance));
  const slots = [...AGENTS, ...AGENTS]
    .filter(() => isDrawn(chance, 6))
    .map((agentId) => ({
      agentId,
      request_id: pick(chance, TASKS),
      op: isDrawn(chance, 3) ? ('release' as const) : ('grant' as const),
      registration: `registration of ${agentId}${isDrawn(chance, 8) ? ' once' : ''}`,
    }));
  if (isDrawn(chance, 6)) more = { ...more, noneFree: some(chance, TAGS) };
  if (isDrawn(chance, 3))
    more = { ...more, atMost: { openTasks: 1 + chance.next(8), agents: chance.next(4) } };
  const due = REFS.filter(() => isDrawn(chance, 6)).map((ref) => drawDue(chance, ref));
  return {
    writes,
    settles,
    session,
    batchFor: (side) => ({
      ...more,
      writes: writes.map(({ kind, id, expected, write }) =>
        write(expectOf(side, `${kind} ${id}`, expected), side.store),
      ),
      slots,
      due: due.flatMap((change) => change(side) ?? []),
    }),
  };
}

function expectOf({ revisions }: Side, key: string, expected: Expected): string {
  const known = revisions.get(key) ?? [];
  if (expected === 'last') return known[0] ?? 'absent';
  if (expected === 'older') return known[1] ?? 'never-given';
  return expected;
}

const drawExpected = (chance: Chance): Expected =>
  isDrawn(chance, 6)
    ? pick(chance, ['absent', 'older'] as const)
    : pick(chance, ['any', 'last', 'last'] as const);

type TaskDraw = {
  id: string;
  settled: boolean;
  ends: boolean;
  tags: readonly string[];
  session: string;
  waits: boolean;
};

/** A settled task is written no more: whoever tries expects what is not so. */
function drawTask(chance: Chance, { id, settled, ends, tags, session, waits }: TaskDraw): PlannedWrite {
  const facts = {
    cli_session_id: session,
    task_tags: tags,
    createdMs: 10 + chance.next(4),
    assignees: some(chance, AGENTS),
    progress: chance.next(100),
    waiting: waits,
  };
  const isRemoved = !ends && !waits && isDrawn(chance, 6);
  return {
    kind: 'task',
    id,
    expected: settled ? pick(chance, ['absent', 'older'] as const) : drawExpected(chance),
    write(expect, store) {
      const end = ends ? { status: 'success' as const, result: {}, settledMs: store.nowMs() } : {};
      const value = isRemoved ? null : buildState(store, { ...facts, ...end });
      return { kind: 'task', id, expect, value };
    },
  };
}

function drawAgent(chance: Chance): PlannedWrite {
  const id = pick(chance, AGENTS);
  const facts = {
    agent_tags: some(chance, TAGS),
    max_concurrent: chance.next(4),
    draining: isDrawn(chance, 6),
  };
  const value = isDrawn(chance, 5) ? null : buildAgent(id, facts);
  return {
    kind: 'agent',
    id,
    expected: drawExpected(chance),
    write: (expect) => ({ kind: 'agent', id, expect, value }),
  };
}

function drawKey(chance: Chance): PlannedWrite {
  const id = pick(chance, KEYS);
  const expected = drawExpected(chance);
  if (isDrawn(chance, 2)) {
    const value = isDrawn(chance, 4) ? null : buildInput(id);
    return { kind: 'input', id, expected, write: (expect) => ({ kind: 'input', id, expect, value }) };
  }
  const value = { request_id: id, fingerprint: String(chance.next(9)), create_time: 1 };
  const keepMs = 1 + chance.next(3_000);
  // Its revision ends with its time, which a side does not hear of.
  return {
    kind: 'key',
    id,
    expected: expected === 'last' ? 'absent' : expected,
    write: (expect) => ({ kind: 'key', id, expect, value, keepMs }),
  };
}

function drawDue(chance: Chance, ref: Ref): (side: Side) => DueChange | undefined {
  const inMs = chance.next(3_000) - 500;
  const draw = chance.next(6);
  return ({ store, leases }) => {
    const lease = leases.get(ref);
    const atMs = store.nowMs() + inMs;
    if (draw === 0) return { ref, atMs: null };
    if (draw === 1) return { ref, atMs, unlessHeld: true };
    if (draw === 2 && lease !== undefined) return { ref, atMs: 'held', lease };
    if (draw === 3 && lease !== undefined) return { ref, atMs, lease };
    return { ref, atMs };
  };
}

async function callBoth(sides: readonly Side[], chance: Chance, draw: number, where: string): Promise<void> {
  const ms = pick(chance, [1, 10, 400, 1_500, 6_000]);
  const agentId = pick(chance, AGENTS);
  const touch = pick(chance, [
    { by: 'beat' },
    { by: 'call' },
    { by: 'register' },
    { by: 'push', taken: true, status: 202, error: null },
    { by: 'push', taken: false, status: null, error: 'refused' },
  ] as const);
  const [left, right] = await both(sides, async ({ subject, store, leases }): Promise<unknown> => {
    if (draw === 6) return await subject.advance(ms);
    if (draw === 7) return await store.touch(agentId, touch);
    if (draw === 8) return await store.keep([...leases].map(([ref, lease]) => ({ ref, lease })));
    const taken = await store.due(100);
    for (const { ref, lease } of taken) leases.set(ref, lease);
    return taken.map(({ ref }) => ref).sort();
  });
  expect(right, where).toEqual(left);
}

/** Everything a caller can see, but what each engine names in its own way. */
async function describe(side: Side | undefined): Promise<unknown> {
  if (!side) throw new Error('two sides');
  const { store } = side;
  const list = async (...[query, ask]: readonly [Parameters<Store['list']>[0], object]): Promise<unknown> => {
    const { items } = await store.list(query, ask as never, { limit: 50 });
    return items.map((item) => ('request_id' in item ? item.request_id : item.record.agent_id));
  };
  const standings = await Promise.all(AGENTS.map((id) => store.standing(id)));
  return {
    tasks: await Promise.all(TASKS.map(async (id) => (await store.get('task', id))?.value)),
    inputs: await Promise.all(KEYS.map(async (id) => (await store.get('input', id))?.value)),
    keys: await Promise.all(KEYS.map(async (id) => (await store.get('key', id))?.value)),
    standings: standings.map(
      (one) =>
        one && [
          one.record,
          one.held,
          one.lastGrantMs,
          one.contact.beatMs,
          one.contact.beatGapMs,
          one.contact.push,
        ],
    ),
    changed: (await store.changes(null)).changed.map(({ record }) => record.agent_id).sort(),
    all: await list('tasks', {}),
    bySession: await Promise.all(SESSIONS.map((session) => list('tasks', { session }))),
    byAgent: await Promise.all(AGENTS.map((agentId) => list('tasks', { agentId }))),
    waiting: await Promise.all([TAGS, ...TAGS.map((tag) => [tag])].map((tags) => list('waiting', { tags }))),
    slots: await Promise.all(AGENTS.map((agentId) => list('slots', { agentId }))),
    unreported: await Promise.all(AGENTS.map((agentId) => list('unreported', { agentId }))),
    agents: await list('agents', {}),
  };
}
