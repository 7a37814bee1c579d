/**
 * Random commits for several engines: drawn once, then completed for each engine with its own revisions and
 * leases.
 */
import { OUTCOMES, type TaskOutcome } from '../../server/domain/history-record.ts';
import type { TaskState } from '../../server/domain/task.ts';
import type { OutputAppend, OutputChange } from '../../server/ports/output.ts';
import type { Batch, DueChange, Lease, Ref, Store } from '../../server/ports/store.ts';
import {
  buildAgent,
  buildInput,
  buildState,
  type createRandom,
  type StoreUnderTest,
  writeAgent,
  writeTask,
} from './store-under-test.ts';

export type Random = ReturnType<typeof createRandom>;
/**
 * One engine, with the revisions (newest first) and the leases that it issued, and the state of a task at
 * each revision.
 */
export type Side = {
  readonly underTest: StoreUnderTest;
  readonly store: Store;
  readonly revisions: Map<string, string[]>;
  readonly states: Map<string, TaskState>;
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

/** One of several values. */
export const pick = <T>(random: Random, values: readonly [T, ...T[]] | readonly T[]): T => {
  const picked = values[random.next(values.length)];
  if (picked === undefined) throw new Error('there is no value to pick');
  return picked;
};
/** True in one of `count` draws. */
const drawOneIn = (random: Random, count: number): boolean => random.next(count) === 0;
/** About half of the values. */
const drawSome = <T>(random: Random, values: readonly T[]): readonly T[] =>
  values.filter(() => random.next(2) === 0);

/** The revision that a write expects: none, or the last or the one before that this engine issued. */
type Expected = 'absent' | 'last' | 'older';
type PlannedWrite = {
  /** The kind and id of the value. */
  readonly key: string;
  readonly expected: Expected;
  /** A batch with the write, and with what follows from it. */
  readonly build: (expect: string, side: Side) => Batch;
};
/** A commit for each engine: which tasks it settles, and the session of its event. */
export type PlannedCommit = {
  readonly writes: readonly PlannedWrite[];
  readonly settles: readonly string[];
  readonly session: string | null;
  buildBatch(side: Side): Batch;
};

/** Draws a commit of any shape. */
export function drawCommit(random: Random, settled: ReadonlySet<string>): PlannedCommit {
  const writes: PlannedWrite[] = [];
  let parts: Partial<Batch> = {};
  const settles: string[] = [];
  let session: string | null = null;
  if (drawOneIn(random, 2)) {
    const id = pick(random, TASKS);
    const isSettling = drawOneIn(random, 3);
    const taskSession = fixedFieldsOf(id).cli_session_id;
    const isWaiting = !isSettling && drawOneIn(random, 3);
    const isUnreported = isSettling && drawOneIn(random, 3);
    const unreported = isUnreported ? pick(random, AGENTS) : undefined;
    writes.push(drawTask(random, { id, settled: settled.has(id), isSettling, isWaiting, unreported }));
    if (isSettling) settles.push(id);
    if (drawOneIn(random, 3)) parts = { ...parts, output: drawOutput(random, id) };
    if (isSettling && taskSession !== '') {
      session = taskSession;
      parts = { ...parts, event: { session, request_id: id } };
    }
  }
  if (drawOneIn(random, 3)) writes.push(drawAgent(random));
  if (drawOneIn(random, 8)) writes.push(drawKey(random));
  const slots = [...AGENTS, ...AGENTS]
    .filter(() => drawOneIn(random, 6))
    .map((agent_id) => ({
      agent_id,
      request_id: pick(random, TASKS),
      op: drawOneIn(random, 3) ? ('release' as const) : ('grant' as const),
      registration: `registration of ${agent_id}${drawOneIn(random, 8) ? ' once' : ''}`,
    }));
  if (drawOneIn(random, 6)) parts = { ...parts, noneFree: drawSome(random, TAGS) };
  if (drawOneIn(random, 8)) parts = { ...parts, noneWaiting: drawSome(random, TAGS) };
  if (drawOneIn(random, 3))
    parts = { ...parts, atMost: { openTasks: 1 + random.next(8), agents: random.next(4) } };
  const due = REFS.filter(() => drawOneIn(random, 6)).map((ref) => drawDue(random, ref));
  const silent = drawOneIn(random, 4)
    ? { agent_id: pick(random, AGENTS), silentMs: pick(random, [0, 1_000_000]) }
    : null;
  return {
    writes,
    settles,
    session,
    buildBatch(side) {
      const built = writes.map(({ key, expected, build }) => build(expectOf(side, key, expected), side));
      return {
        ...parts,
        writes: built.flatMap((one) => one.writes),
        slots,
        due: due.flatMap((change) => change(side) ?? []),
        ...(silent && {
          noContactAfter: { agent_id: silent.agent_id, atMs: side.store.nowMs() - silent.silentMs },
        }),
      };
    },
  };
}

const WRITERS = ['w1', 'w 2', '写'] as const;
/** Of some a few fill the limit that a run sets for all output together. */
const PIECES = ['{"text":"a"}', '{"data":{"é":[1,2]}}', `{"text":"${'x'.repeat(700)}"}`] as const;

/** Draws what a writer appends to the output of any task. */
export function drawAppend(random: Random, request_id = pick(random, TASKS)): OutputAppend {
  const pieces = Array.from({ length: random.next(4) }, () => pick(random, PIECES));
  return { request_id, pieces, by: { writer: pick(random, WRITERS), from: random.next(4) } };
}

/** Draws a change of the output of a task that the commit writes. */
function drawOutput(random: Random, request_id: string): OutputChange {
  const { pieces, by } = drawAppend(random);
  const writer = drawOneIn(random, 4) ? null : by.writer;
  const begins = { writer, ...(drawOneIn(random, 2) && { reset: '{"reset":true}' }) };
  const isOwn = writer === null || drawOneIn(random, 4);
  const append = { pieces, ...(!isOwn && { by, isNeeded: drawOneIn(random, 4) }) };
  const draw = random.next(4);
  return { request_id, ...(draw < 3 && { append }), ...(draw > 1 && { begins }) };
}

/** Notes what the engine has committed under this revision. */
export function noteCommitted({ revisions, states }: Side, { writes }: Batch, revision: string): void {
  for (const { kind, id, value } of writes) {
    const key = `${kind} ${id}`;
    revisions.set(key, [value === null ? 'absent' : revision, ...(revisions.get(key) ?? [])]);
    if (kind === 'task') states.set(revision, value);
  }
}

/** What never changes in a task. */
function fixedFieldsOf(id: string) {
  const number = TASKS.indexOf(id);
  const at = <T>(values: readonly T[], index: number): T => values[index % values.length] as T;
  return {
    cli_session_id: at(SESSIONS, Math.floor(number / 2)),
    task_tags: [at(TAGS, number)],
    createdMs: 10 + (number % 4),
  };
}

function expectOf({ revisions }: Side, key: string, expected: Expected): string {
  const issued = revisions.get(key) ?? [];
  if (expected === 'last') return issued[0] ?? 'absent';
  if (expected === 'older') return issued[1] ?? 'never-issued';
  return expected;
}

const drawExpected = (random: Random): Expected =>
  drawOneIn(random, 6) ? pick(random, ['absent', 'older'] as const) : 'last';

type TaskDraw = {
  id: string;
  settled: boolean;
  isSettling: boolean;
  isWaiting: boolean;
  unreported: string | undefined;
};

/** A settled task is not written again: a write to it expects a wrong revision. */
function drawTask(
  random: Random,
  { id, settled, isSettling, isWaiting, unreported }: TaskDraw,
): PlannedWrite {
  const fields = { ...fixedFieldsOf(id), progress: random.next(100), waiting: isWaiting };
  const newAssignees = drawSome(random, AGENTS);
  const outcome = pick(random, OUTCOMES);
  const reply = drawOneIn(random, 3) ? { reply: `reply ${random.next(9)}` } : undefined;
  const details = isSettling ? null : reply;
  return {
    key: `task ${id}`,
    expected: settled ? pick(random, ['absent', 'older'] as const) : drawExpected(random),
    build(expect, { store, states }) {
      const end = isSettling ? buildEnding(outcome, store.nowMs()) : {};
      const before = states.get(expect);
      const assignees = [...new Set([...(before?.assignees ?? []), ...newAssignees])];
      const after = buildState(store, { ...fields, assignees, ...end });
      // No state is known of a revision that was never issued, and such a commit has a conflict.
      const value = before ?? buildState(store);
      const stored = expect === 'absent' ? expect : { value, revision: expect };
      return writeTask(id, stored, after, {
        ...(unreported !== undefined && { unreported }),
        ...(details !== undefined && { details }),
      });
    },
  };
}

/** What settles a task in this way. */
export function buildEnding(outcome: TaskOutcome, settledMs: number): Partial<TaskState> {
  const history = [[outcome, settledMs]] as const;
  if (outcome === 'success') return { status: 'success', result: {}, settledMs, history };
  return { status: 'failed', error_info: outcome, settledMs, history };
}

function drawAgent(random: Random): PlannedWrite {
  const id = pick(random, AGENTS);
  const fields = {
    agent_tags: drawSome(random, TAGS),
    max_concurrent: random.next(4),
    draining: drawOneIn(random, 6),
    ...(drawOneIn(random, 4) && { registration: `registration of ${id} ${random.next(3)}` }),
  };
  const value = drawOneIn(random, 5) ? null : buildAgent(id, fields);
  return {
    key: `agent ${id}`,
    expected: drawExpected(random),
    build: (expect) => writeAgent(id, expect, value),
  };
}

function drawKey(random: Random): PlannedWrite {
  const id = pick(random, KEYS);
  const expect = 'absent';
  if (drawOneIn(random, 2)) {
    const batch: Batch = { writes: [{ kind: 'input', id, expect, value: buildInput(id) }] };
    return { key: `input ${id}`, expected: expect, build: () => batch };
  }
  const value = { request_id: id, fingerprint: String(random.next(9)), create_time: 1 };
  const keepMs = 1 + random.next(3_000);
  const batch: Batch = { writes: [{ kind: 'key', id, expect, value, keepMs }] };
  return { key: `key ${id}`, expected: expect, build: () => batch };
}

function drawDue(random: Random, ref: Ref): (side: Side) => DueChange | undefined {
  const inMs = random.next(3_000) - 500;
  const draw = random.next(7);
  const newLease = `new ${random.next(1_000_000)}`;
  return ({ store, leases }) => {
    const lease = leases.get(ref);
    const atMs = store.nowMs() + inMs;
    if (draw === 4) {
      leases.set(ref, newLease);
      return { ref, atMs: 'held', lease: newLease, isNew: true };
    }
    if (draw === 0) return { ref, atMs: null };
    if (draw === 1) return { ref, atMs, unlessHeld: true };
    if (draw === 2 && lease !== undefined) return { ref, atMs: 'held', lease };
    if (draw === 3 && lease !== undefined) return { ref, atMs, lease };
    return { ref, atMs };
  };
}
