/**
 * The two forms of a commit on Redis: random batches, in their flat form and several in one script, have the
 * results of the same batches in their general form, each in a script of its own, and leave the same keys.
 * @module-tag redis
 */
import { createClient } from '@redis/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { OUTCOMES } from '../../server/domain/history-record.ts';
import type { TaskState } from '../../server/domain/task.ts';
import type { Reply } from '../../server/engines/redis/client/client.ts';
import { type EncodedCommit, encodeCommit } from '../../server/engines/redis/commit/commit-arguments.ts';
import { type Script, scripts } from '../../server/engines/redis/scripts.ts';
import type { Batch, Lease, Ref, Store } from '../../server/ports/store.ts';
import { type RedisProcess, startRedis } from '../harness/redis-process.ts';
import {
  AGENTS,
  buildEnding,
  drawCommit,
  fixedFieldsOf,
  noteCommitted,
  type PlannedCommit,
  pick,
  type Random,
  type Side,
  TAGS,
  TASKS,
} from './alike-commits.ts';
import {
  buildInput,
  buildState,
  createRandom,
  drawSeed,
  type StoreUnderTest,
  taskRef,
  writeTask,
} from './store-under-test.ts';
import { readKeys } from './stored-keys.ts';

/** How many runs of so many steps; `FORMS_RUNS` asks for more runs, `FORMS_SEED` repeats one. */
const RUNS = Number(process.env.FORMS_RUNS ?? 8);
const STEPS = 40;
/** Batches in one script. */
const GROUP_MAX = 7;
const START_MS = 1_700_000_000_000;
const EPOCH = 'the-epoch';

let redis: RedisProcess;
let client: ReturnType<typeof createClient>;
beforeAll(async () => {
  redis = await startRedis(['--appendonly', 'no']);
  client = createClient({ url: redis.url });
  await client.connect();
});
afterAll(async () => {
  client.destroy();
  await redis.dispose();
});

test(`flat and general commits do the same in ${RUNS} runs of random batches`, {
  timeout: 60_000 + RUNS * 5_000,
}, async () => {
  const first = Number(process.env.FORMS_SEED ?? drawSeed());
  const results = new Map<string, number>();
  for (let run = 0; run < RUNS; run += 1) await compareForms(first + run, results);
  // Runs in which a kind of result never comes compare little.
  for (const result of ['ok', 'revision', 'lease', 'slot', 'waiting', 'full'])
    expect(results.get(`flat ${result}`) ?? 0, result).toBeGreaterThan(0);
  expect(results.get('general ok')).toBeGreaterThan(0);
});

test('a commit behind one that settles the last waiting task is not refused for that task', async () => {
  const run = createRun(1);
  const prefixes = await createStores('waiting');
  const commitAll = async (...batches: readonly Batch[]) =>
    (
      await compareGroup(
        run,
        prefixes,
        batches,
        batches.map(() => createName(run)),
        'waiting',
      )
    ).results;
  const pending = buildState(run.side.store);
  const waiting = { ...pending, waiting: true };
  await commitAll(writeTask('w', 'absent', waiting));
  const settled = { ...pending, ...buildEnding('success', run.nowMs) };
  const noneWaiting = ['a'];
  const results = await commitAll(
    writeTask('t1', 'absent', pending, { noneWaiting }),
    writeTask('w', { value: waiting, revision: 'name-1' }, settled),
    writeTask('t2', 'absent', pending, { noneWaiting }),
  );
  expect(results).toEqual(['waiting', 'ok', 'ok']);
});

/** What a run knows: it issues the revisions and leases itself, so both stores have the same. */
type Run = {
  readonly random: Random;
  readonly side: Side;
  readonly settled: Set<string>;
  nowMs: number;
  names: number;
};

async function compareForms(seed: number, counts: Map<string, number>): Promise<void> {
  const run = createRun(seed);
  const prefixes = await createStores(`${seed}`);
  for (let step = 0; step < STEPS; step += 1) {
    const where = `seed ${seed}, step ${step}`;
    run.nowMs += pick(run.random, [0, 1, 700, 1_600]);
    if (run.random.next(4) === 0) await takeDue(run, prefixes, where);
    const drawn: DrawnBatch[] = [];
    const names: string[] = [];
    for (let count = run.random.next(GROUP_MAX); count >= 0; count -= 1) {
      drawn.push(drawBatch(run, drawn, names));
      names.push(createName(run));
    }
    const batches = drawn.map(({ batch }) => batch);
    const { forms, results } = await compareGroup(run, prefixes, batches, names, where);
    for (const [index, { batch, planned }] of drawn.entries()) {
      const result = results[index]?.split(' ')[0] ?? '';
      const counted = `${forms[index]} ${result}`;
      counts.set(counted, (counts.get(counted) ?? 0) + 1);
      if (result === 'ok') noteApplied(run, batch, planned, names[index] ?? '');
    }
  }
  await client.flushAll();
}

type Prefixes = readonly [flat: string, general: string];

async function createStores(name: string): Promise<Prefixes> {
  const prefixes = [`{flat-${name}}:`, `{general-${name}}:`] as const;
  for (const prefix of prefixes) await client.set(`${prefix}epoch`, EPOCH);
  return prefixes;
}

/** Commits the batches to both stores; resolves with the form that each took in the first, and its result. */
async function compareGroup(
  run: Run,
  [flat, general]: Prefixes,
  batches: readonly Batch[],
  names: readonly string[],
  where: string,
): Promise<{ readonly forms: readonly string[]; readonly results: readonly string[] }> {
  const encodeAll = (isFlat: boolean) =>
    batches.map((batch, index) => encode(run, batch, names[index] ?? '', isFlat));
  const inFlat = encodeAll(true);
  const [dueMs, ...results] = await commit(run, flat, inFlat);
  const alone: (readonly string[])[] = [];
  for (const one of encodeAll(false)) alone.push(await commit(run, general, [one]));
  const text = `${where}: ${JSON.stringify(batches)}`;
  // Which of several free agents is named, Redis chooses.
  const wordOf = (result = ''): string => result.split(' ')[0] ?? '';
  expect(results.map(wordOf), text).toEqual(alone.map(([, result]) => wordOf(result)));
  expect(dueMs, text).toBe(alone.map(([ms = '']) => ms).reduce(earlier, ''));
  expect(await readKeys(client, flat), text).toEqual(await readKeys(client, general));
  return { forms: inFlat.map(({ args }) => args[0] ?? ''), results };
}

const earlier = (one: string, other: string): string =>
  one === '' || (other !== '' && Number(other) < Number(one)) ? other : one;

function createRun(seed: number): Run {
  const store = { nowMs: () => run.nowMs } as unknown as Store;
  const side: Side = {
    underTest: {} as unknown as StoreUnderTest,
    store,
    revisions: new Map<string, string[]>(),
    states: new Map<string, TaskState>(),
    leases: new Map<Ref, Lease>(),
  };
  const run: Run = { random: createRandom(seed), side, settled: new Set(), nowMs: START_MS, names: 0 };
  return run;
}

function createName(run: Run): string {
  run.names += 1;
  return `name-${run.names}`;
}

function encode(run: Run, batch: Batch, revision: string, isFlat: boolean): EncodedCommit {
  const notAfterMs = batch.notAfterMs ?? run.nowMs + 1_000;
  return encodeCommit(batch, { revision, notAfterMs }, isFlat);
}

async function call(run: Run, prefix: string, script: Script, args: readonly string[]): Promise<Reply> {
  const all = [script.text, '1', prefix, EPOCH, String(run.nowMs), ...args];
  return (await client.sendCommand(['EVAL', ...all])) as Reply;
}

async function commit(
  run: Run,
  prefix: string,
  commits: readonly EncodedCommit[],
): Promise<readonly string[]> {
  const args = ['process', 'hints', 'hints/process', ...commits.flatMap((one) => one.args)];
  return (await call(run, prefix, scripts.commit, args)) as readonly string[];
}

async function takeDue(run: Run, prefixes: Prefixes, where: string): Promise<void> {
  const args = ['20', createName(run), '2'];
  const replies: Reply[] = [];
  for (const prefix of prefixes) replies.push((await call(run, prefix, scripts.takeDue, args)) as Reply);
  const [flat, general] = replies.map((reply) => (reply as readonly Reply[]).slice(1));
  expect(flat, where).toEqual(general);
  const taken = (flat?.[1] ?? []) as readonly string[];
  for (let index = 0; index + 1 < taken.length; index += 2) {
    const [ref, lease] = taken.slice(index);
    run.side.leases.set(ref as Ref, lease ?? '');
  }
}

type DrawnBatch = { readonly batch: Batch; readonly planned: PlannedCommit | null };

/** Three of four batches fit the flat form; `earlier` are those before it in the same script. */
function drawBatch(run: Run, earlier: readonly DrawnBatch[], names: readonly string[]): DrawnBatch {
  const draw = run.random.next(8);
  // A task begins to wait that the script may have written before, and may settle after.
  if (draw !== 1) return { batch: drawTaskBatch(run, earlier, names, draw === 0), planned: null };
  const planned = drawCommit(run.random, run.settled);
  return { batch: planned.buildBatch(run.side), planned };
}

/** A batch of one task: what becomes of a task again and again, and combinations that never do. */
function drawTaskBatch(
  run: Run,
  earlier: readonly DrawnBatch[],
  names: readonly string[],
  beginsToWait: boolean,
): Batch {
  const { random, side } = run;
  const oneIn = (count: number): boolean => random.next(count) === 0;
  const index = oneIn(3) ? earlier.findLastIndex(({ batch }) => batch.writes.at(-1)?.kind === 'task') : -1;
  const written = earlier[index]?.batch.writes.at(-1);
  const id = written?.id ?? pick(random, TASKS);
  const agent_id = pick(random, AGENTS);
  const fixed = fixedFieldsOf(id);
  const session = fixed.cli_session_id;
  const last = names[index] ?? side.revisions.get(`task ${id}`)?.[0] ?? 'absent';
  const lastState = written?.kind === 'task' ? written.value : side.states.get(last);
  const isNew = index === -1 && oneIn(2);
  // A settled task is not written again: a write to it expects a wrong revision.
  const isSettled = lastState?.settledMs != null;
  const expected = isNew ? 'absent' : isSettled ? 'older' : pick(random, [last, last, last, last, 'older']);
  const before = expected === 'absent' ? undefined : lastState;
  const isSettling = !isNew && oneIn(3);
  const isPull = oneIn(4);
  const state = buildState(side.store, {
    ...fixed,
    assignees: [...new Set([...(before?.assignees ?? []), ...(oneIn(2) ? [agent_id] : [])])],
    waiting: !isSettling && (before?.waiting ? !oneIn(3) : beginsToWait),
    ...(isSettling && buildEnding(pick(random, OUTCOMES), run.nowMs)),
    ...(!isSettling && isPull && { status: 'running' as const, agent_id, delivery: drawDelivery(run) }),
  });
  const stored = { value: before ?? buildState(side.store), revision: expected };
  const { writes, wait } = writeTask(id, expected === 'absent' ? expected : stored, state);
  const input = { kind: 'input', id, expect: 'absent', value: buildInput(id) } as const;
  return {
    writes: isNew && oneIn(2) ? [input, ...writes] : writes,
    ...(wait && { wait }),
    ...(oneIn(2) && { due: [drawDue(run, taskRef(id))] }),
    ...(oneIn(2) && {
      slots: [
        oneIn(2)
          ? { op: 'release', agent_id, request_id: id }
          : { op: 'grant', agent_id, request_id: id, registration: `registration of ${agent_id}` },
      ],
    }),
    ...(isSettling && session !== '' && { event: { session, request_id: id } }),
    ...(oneIn(3) && { atMost: { openTasks: 1 + random.next(9) } }),
    ...(oneIn(5) && { noneWaiting: TAGS.slice(random.next(3)) }),
    ...(oneIn(30) && { notAfterMs: run.nowMs - 1 }),
  };
}

function drawDelivery({ random, nowMs }: Run) {
  const attemptMs = random.next(2) === 0 ? null : nowMs - random.next(9_000);
  return {
    assignedMs: nowMs,
    attempts: 1,
    untaken: 0,
    attemptMs,
    acknowledged: random.next(4) === 0,
    disowned: 0,
    nextMs: nowMs,
    busy: [],
    pull: true,
  };
}

function drawDue({ random, side, nowMs }: Run, ref: Ref): NonNullable<Batch['due']>[number] {
  const atMs = nowMs + random.next(3_000) - 500;
  const lease = side.leases.get(ref) ?? 'never-issued';
  return pick(random, [
    { ref, atMs },
    { ref, atMs: null },
    { ref, atMs, unlessHeld: true },
    { ref, atMs: 'held', lease },
    { ref, atMs, lease },
    { ref, atMs: null, lease },
    { ref, atMs: 'held', lease: `new ${random.next(1_000_000)}`, isNew: true },
  ] as const);
}

function noteApplied(run: Run, batch: Batch, planned: PlannedCommit | null, revision: string): void {
  noteCommitted(run.side, batch, revision);
  for (const { kind, id, value } of batch.writes) if (kind === 'task' && value.settledMs) run.settled.add(id);
  for (const { ref, lease, isNew } of batch.due ?? []) if (isNew) run.side.leases.set(ref, lease);
  for (const id of planned?.settles ?? []) run.settled.add(id);
}
