/**
 * What is counted of the tasks, by class and outcome, and the listings of the open ones, of those that wait
 * for an answer and of those that ended without success.
 */
import { describe, expect, test } from 'vitest';
import { OUTCOMES, type TaskOutcome } from '../../server/domain/history-record.ts';
import { isOpen, type TaskQuestion } from '../../server/domain/question.ts';
import { isSettled, type TaskState } from '../../server/domain/task.ts';
import { classifyTask, fillOutcomes, isOutcome, type TaskCounts } from '../../server/domain/task-counts.ts';
import type { Store, Stored, TasksAsk } from '../../server/ports/store.ts';
import {
  assign,
  createRandom,
  drawSeed,
  endingOf,
  must,
  readState,
  register,
  submit,
  writeTask,
} from './store-under-test.ts';
import type { SuiteContext } from './suite-context.ts';

const FAILURES = OUTCOMES.filter((outcome) => outcome !== 'success');
type Failure = (typeof FAILURES)[number];
const RETENTION = { keepTasksMs: 10_000, sessionEventsMax: 1_000, outputBytesMax: 2 ** 28 };

/** Settles a stored task in this way. */
export async function endAs(store: Store, id: string, outcome: TaskOutcome): Promise<void> {
  const ending = await endingOf(store, id);
  const before = await readState(store, id);
  const isSuccess = outcome === 'success';
  const settled: TaskState = {
    ...before.value,
    ...(isSuccess ? { status: 'success', result: {} } : { status: 'failed', error_info: outcome }),
    delivery: null,
    waiting: false,
    settledMs: store.nowMs(),
    history: [[outcome, store.nowMs()]],
  };
  must(await store.commit({ ...ending, ...writeTask(id, before, settled) }));
}

/** Counts every stored task by reading it. */
async function recount(store: Store): Promise<TaskCounts> {
  const counts = { pending: 0, running: 0, waiting: 0, waitingForAnswer: 0, ended: fillOutcomes() };
  const { items, next } = await store.list('tasks', {}, { limit: 1_000 });
  expect(next).toBeNull();
  for (const { request_id } of items) {
    const { value } = await readState(store, request_id);
    const taskClass = classifyTask(value);
    if (value.waiting) counts.waiting += 1;
    if (!isSettled(value) && value.questions?.some(isOpen)) counts.waitingForAnswer += 1;
    if (isOutcome(taskClass)) counts.ended[taskClass] += 1;
    else counts[taskClass] += 1;
  }
  return counts;
}

export function describeCounting({ store, reopen, underTest }: SuiteContext): void {
  const NOTHING: TaskCounts = {
    pending: 0,
    running: 0,
    waiting: 0,
    waitingForAnswer: 0,
    ended: fillOutcomes(),
  };
  const ids = async (ask: TasksAsk, limit = 100): Promise<readonly string[]> => {
    const found: string[] = [];
    let after: string | undefined;
    do {
      const page = await store().list('tasks', ask, { limit, ...(after !== undefined && { after }) });
      expect(page.items.length).toBeLessThanOrEqual(limit);
      found.push(...page.items.map(({ request_id }) => request_id));
      after = page.next ?? undefined;
    } while (after !== undefined);
    return found;
  };
  /** The tasks that wait for an answer, page by page, each read on from the position of the item before. */
  const unanswered = async (limit = 100): Promise<readonly string[]> => {
    const found: string[] = [];
    for (let after: string | undefined; ; ) {
      const page = { limit, ...(after !== undefined && { after }) };
      const { items, next } = await store().list('waitingForAnswer', {}, page);
      found.push(...items.map(({ request_id }) => request_id));
      after = items.at(-1)?.position;
      if (next === null) return found;
    }
  };
  /** Writes the questions of a running task. */
  async function ask(id: string, ...questions: readonly Partial<TaskQuestion>[]): Promise<void> {
    const before = await readState(store(), id);
    const all = questions.map((one, at) => ({ key: `q${at}`, at, askedMs: 1, ...one }));
    must(await store().commit(writeTask(id, before, { ...before.value, questions: all })));
  }
  async function trimAll(): Promise<void> {
    while ((await store().trim(RETENTION, 500)) > 0);
  }

  describe('the counts of tasks', () => {
    test('follow a task from its submission to its removal', async () => {
      await register(store(), 'A');
      expect(await store().readCounts(0)).toMatchObject(NOTHING);
      await submit(store(), 't1');
      expect(await store().readCounts(0)).toMatchObject({ ...NOTHING, pending: 1 });
      must(await assign(store(), 't1', 'A'));
      expect(await store().readCounts(0)).toMatchObject({ ...NOTHING, running: 1 });
      const before = await readState(store(), 't1');
      must(await store().commit(writeTask('t1', before, { ...before.value, progress: 50 })));
      expect(await store().readCounts(0)).toMatchObject({ ...NOTHING, running: 1 });
      await endAs(store(), 't1', 'success');
      expect(await store().readCounts(0)).toMatchObject({ ...NOTHING, ended: fillOutcomes({ success: 1 }) });
      await underTest().advance(10_000);
      await trimAll();
      expect(await store().readCounts(0)).toMatchObject(NOTHING);
    });

    test('have each outcome, also after a restart, and lose what retention removes', async () => {
      const ended: Partial<Record<TaskOutcome, number>> = {};
      for (const [index, outcome] of OUTCOMES.entries()) {
        for (let n = 0; n <= index; n += 1) {
          await submit(store(), `${outcome}-${n}`);
          await endAs(store(), `${outcome}-${n}`, outcome);
        }
        ended[outcome] = index + 1;
      }
      await underTest().advance(5_000);
      await submit(store(), 'later');
      await endAs(store(), 'later', 'timeout');
      await submit(store(), 'open');
      const all = fillOutcomes({ ...ended, timeout: (ended.timeout ?? 0) + 1 });
      expect(await store().readCounts(0)).toMatchObject({ ...NOTHING, pending: 1, ended: all });
      await reopen();
      expect(await store().readCounts(0)).toMatchObject({ ...NOTHING, pending: 1, ended: all });
      await underTest().advance(5_000);
      await trimAll();
      const kept = { ...NOTHING, pending: 1, ended: fillOutcomes({ timeout: 1 }) };
      expect(await store().readCounts(0)).toMatchObject(kept);
      await reopen();
      expect(await store().readCounts(0)).toMatchObject(kept);
    });

    test('lose a task once that was removed, submitted again under its id and removed again', async () => {
      for (const isReopened of [true, false]) {
        await submit(store(), 't1');
        await endAs(store(), 't1', 'no_agent');
        await underTest().advance(10_000);
        if (isReopened) await reopen();
        await trimAll();
      }
      expect(await store().readCounts(0)).toMatchObject(NOTHING);
    });

    test('are those of all stored tasks after random changes, restarts and trims', async () => {
      const random = createRandom(drawSeed());
      for (let step = 0; step < 120; step += 1) {
        const id = `t${random.next(25)}`;
        const stored = await store().get('task', id);
        const draw = random.next(12);
        if (draw === 0) await reopen();
        else if (draw === 1) await underTest().advance(random.next(9_000));
        else if (draw === 2) await trimAll();
        else if (!stored) await submit(store(), id, { createdMs: store().nowMs() - random.next(3) });
        else if (stored.value.settledMs === null) {
          if (random.next(3) === 0) await changeWaiting(id, stored);
          else if (stored.value.status === 'running' && random.next(2) === 0) await askAtRandom(id, random);
          else await advanceTask(id, stored, random.next(7));
        }
        if (step % 6 === 0)
          expect(await store().readCounts(0), `seed ${random.seed}, step ${step}`).toMatchObject(
            await recount(store()),
          );
      }
      const counts = await recount(store());
      expect(await store().readCounts(0)).toMatchObject(counts);
      expect(await ids({ open: true }, 3)).toHaveLength(counts.pending + counts.running);
      expect(await ids({ open: 'running' }, 3)).toHaveLength(counts.running);
      expect(await ids({ open: 'waiting' }, 3)).toHaveLength(counts.waiting);
      expect(await unanswered(3)).toHaveLength(counts.waitingForAnswer);
      for (const outcome of FAILURES)
        expect(await ids({ outcome }, 3), outcome).toHaveLength(counts.ended[outcome]);
    });

    /** Gives a running task up to three questions; some of them are answered or withdrawn. */
    async function askAtRandom(id: string, random: ReturnType<typeof createRandom>): Promise<void> {
      const questions = Array.from({ length: random.next(4) }, (): Partial<TaskQuestion> => {
        const askedMs = 1_000 + random.next(5);
        const kind = random.next(3);
        if (kind === 0) return { askedMs };
        return kind === 1 ? { askedMs, answeredMs: 2_000 } : { askedMs, isWithdrawn: true };
      });
      await ask(id, ...questions);
    }

    /** Lets an open task wait for an agent, or wait no longer. */
    async function changeWaiting(id: string, before: Stored<TaskState>): Promise<void> {
      const { value } = before;
      must(await store().commit(writeTask(id, before, { ...value, waiting: !value.waiting })));
    }

    /** Moves an open task on: it runs or is settled. */
    async function advanceTask(id: string, before: Stored<TaskState>, draw: number): Promise<void> {
      if (draw < OUTCOMES.length) return await endAs(store(), id, OUTCOMES[draw] ?? 'failed');
      const running = { status: 'running', agent_id: 'A', assignees: ['A'], waiting: false } as const;
      must(await store().commit(writeTask(id, before, { ...before.value, ...running })));
    }
  });

  describe('the listing of tasks', () => {
    test('has the open ones alone, or the pending or the running ones, newest first and page by page', async () => {
      await register(store(), 'A', { max_concurrent: 9 });
      for (let n = 0; n < 7; n += 1) {
        await underTest().advance(1);
        await submit(store(), `t${n}`);
        if (n % 3 === 0) must(await assign(store(), `t${n}`, 'A'));
      }
      await endAs(store(), 't4', 'cancelled');
      for (const isReopened of [false, true]) {
        if (isReopened) await reopen();
        for (const limit of [2, 100]) {
          expect(await ids({ open: true }, limit)).toEqual(['t6', 't5', 't3', 't2', 't1', 't0']);
          expect(await ids({ open: 'pending' }, limit)).toEqual(['t5', 't2', 't1']);
          expect(await ids({ open: 'running' }, limit)).toEqual(['t6', 't3', 't0']);
        }
      }
    });

    test('has the waiting ones alone, pending and running, newest first and page by page', async () => {
      await register(store(), 'A', { max_concurrent: 9 });
      for (let n = 0; n < 8; n += 1) {
        await submit(store(), `t${n}`, { createdMs: 10 + n, task_tags: n === 3 ? [] : ['x', `y${n}`] });
        if (n % 3 === 0) must(await assign(store(), `t${n}`, 'A'));
        if (n === 1 || n === 7) continue;
        const before = await readState(store(), `t${n}`);
        must(await store().commit(writeTask(`t${n}`, before, { ...before.value, waiting: true })));
      }
      await endAs(store(), 't4', 'cancelled');
      for (const isReopened of [false, true]) {
        if (isReopened) await reopen();
        for (const limit of [1, 2, 100])
          expect(await ids({ open: 'waiting' }, limit)).toEqual(['t6', 't5', 't3', 't2', 't0']);
        expect(await ids({ open: 'waiting', fromMs: 12, toMs: 16 }, 1)).toEqual(['t5', 't3', 't2']);
        expect(await store().readCounts(0)).toMatchObject({ pending: 4, running: 3, waiting: 5 });
      }
    });

    test('has those that wait for an answer, who has waited longest first, as long as they do', async () => {
      await register(store(), 'A', { max_concurrent: 9 });
      for (const id of ['t1', 't2', 't3', 't4', 't5']) {
        await submit(store(), id);
        if (id !== 't5') must(await assign(store(), id, 'A'));
      }
      const answeredMs = 50;
      await ask('t1', { askedMs: 30 });
      await ask('t2', { askedMs: 10 });
      await ask('t3', { askedMs: 5, answeredMs }, { askedMs: 20 }, { askedMs: 40 });
      await ask('t4', { askedMs: 5, answeredMs }, { askedMs: 5, isWithdrawn: true });
      const check = async (...expected: readonly string[]): Promise<void> => {
        for (const limit of [1, 2, 100]) expect(await unanswered(limit)).toEqual(expected);
        expect(await store().readCounts(0)).toMatchObject({
          running: 4,
          waiting: 0,
          waitingForAnswer: expected.length,
        });
      };
      await check('t2', 't3', 't1');
      await reopen();
      await check('t2', 't3', 't1');
      await ask('t3', { askedMs: 5, answeredMs }, { askedMs: 20, answeredMs }, { askedMs: 40 });
      await check('t2', 't1', 't3');
      await ask('t2', { askedMs: 10, answeredMs });
      await check('t1', 't3');
      await endAs(store(), 't3', 'cancelled');
      expect(await unanswered()).toEqual(['t1']);
      await reopen();
      expect(await unanswered()).toEqual(['t1']);
      await ask('t1', { askedMs: 30, isWithdrawn: true });
      expect(await unanswered()).toEqual([]);
      expect(await store().readCounts(0)).toMatchObject({ running: 3, waitingForAnswer: 0 });
    });

    test('has those of an outcome alone, until retention removes them', async () => {
      for (const [n, outcome] of OUTCOMES.entries()) {
        await submit(store(), `old-${outcome}`, { createdMs: 1_000 + n });
        await endAs(store(), `old-${outcome}`, outcome);
      }
      await underTest().advance(5_000);
      for (const outcome of FAILURES) {
        await submit(store(), `new-${outcome}`);
        await endAs(store(), `new-${outcome}`, outcome);
      }
      const listed = async (outcome: Failure): Promise<readonly string[]> => await ids({ outcome }, 1);
      for (const outcome of FAILURES)
        expect(await listed(outcome)).toEqual([`new-${outcome}`, `old-${outcome}`]);
      await reopen();
      await underTest().advance(5_000);
      await trimAll();
      for (const outcome of FAILURES) expect(await listed(outcome)).toEqual([`new-${outcome}`]);
    });

    test('is bounded by the time of creation: from the first, before the second', async () => {
      await register(store(), 'A');
      for (let ms = 10; ms < 16; ms += 1) await submit(store(), `t${ms}`, { createdMs: ms });
      must(await assign(store(), 't13', 'A'));
      for (const id of ['t11', 't12', 't14']) await endAs(store(), id, 'failed');
      expect(await ids({ fromMs: 11, toMs: 14 }, 1)).toEqual(['t13', 't12', 't11']);
      expect(await ids({ fromMs: 14 })).toEqual(['t15', 't14']);
      expect(await ids({ toMs: 11 })).toEqual(['t10']);
      expect(await ids({ fromMs: 16 })).toEqual([]);
      expect(await ids({ fromMs: 13, toMs: 13 })).toEqual([]);
      expect(await ids({ open: true, fromMs: 11, toMs: 15 }, 1)).toEqual(['t13']);
      expect(await ids({ open: true, toMs: 13 }, 1)).toEqual(['t10']);
      expect(await ids({ outcome: 'failed', fromMs: 12 }, 1)).toEqual(['t14', 't12']);
      expect(await ids({ outcome: 'failed', toMs: 14 }, 1)).toEqual(['t12', 't11']);
      expect(await ids({ session: 's', fromMs: 14, toMs: 15 })).toEqual(['t14']);
      expect(await ids({ agent_id: 'A', toMs: 14 })).toEqual(['t13']);
      expect(await ids({ agent_id: 'A', toMs: 13 })).toEqual([]);
    });
  });
}
