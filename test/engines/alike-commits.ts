/** Random commits for two engines at once: drawn in words, filled in by each with the revisions and leases it knows. */
import type { Batch, DueChange, Lease, Ref, Store, Write } from '../../server/ports/store.ts';
import { buildAgent, buildInput, buildState, type createChance, type Subject } from './store-under-test.ts';

export type Chance = ReturnType<typeof createChance>;
/** An engine with what it alone knows: its revisions, its leases. */
export type Side = {
  readonly subject: Subject;
  readonly store: Store;
  readonly revisions: Map<string, string[]>;
  readonly leases: Map<Ref, Lease>;
};

export const TASKS = Array.from({ length: 10 }, (_, index) => `t${index}`);
export const AGENTS = ['A0', 'A1', 'A2'];
export const TAGS = ['a', 'b', 'c'];
export const SESSIONS = ['s0', 's1', ''];
export const KEYS = ['k0', 'k1'];
const REFS: readonly Ref[] = [
  ...TASKS.map((id) => `task:${id}` as const),
  ...AGENTS.map((id) => `agent:${id}` as const),
];

/** One of several. */
export const pick = <T>(chance: Chance, of: readonly [T, ...T[]] | readonly T[]): T => {
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

/** A commit of any shape. A task that has settled is written no more. */
export function drawCommit(chance: Chance, settled: ReadonlySet<string>): Plan {
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
      more = { ...more, unreported: { agent_id: pick(chance, AGENTS), request_id: id } };
    if (waits) more = { ...more, wait: { op: 'join', request_id: id, tags, sinceMs: chance.next(50) } };
    else if (!ends && isDrawn(chance, 3))
      more = { ...more, wait: { op: 'leave', request_id: id, tags, sinceMs: 1 } };
  }
  if (isDrawn(chance, 3)) writes.push(drawAgent(chance));
  if (isDrawn(chance, 8)) writes.push(drawKey(chance));
  const slots = [...AGENTS, ...AGENTS]
    .filter(() => isDrawn(chance, 6))
    .map((agent_id) => ({
      agent_id,
      request_id: pick(chance, TASKS),
      op: isDrawn(chance, 3) ? ('release' as const) : ('grant' as const),
      registration: `registration of ${agent_id}${isDrawn(chance, 8) ? ' once' : ''}`,
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
