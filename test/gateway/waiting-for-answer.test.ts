/** Which tasks wait for a person’s answer, on each engine: lists, counts, the overview, a cancellation. */
import { describe, expect, test } from 'vitest';
import type { TaskFilter } from '../../server/ports/admin.ts';
import { countTasks } from '../harness/listings.ts';
import { write } from '../harness/outputs.ts';
import { describeEachStore } from '../harness/stores.ts';
import { buildRegistration, type World } from '../harness/world.ts';
import { submitLong } from '../harness/world-calls.ts';
import { useWorlds } from '../harness/worlds.ts';

const LATER = 9_999_999_999;

describeEachStore('tasks that wait for an answer, on %s', (_name, open) => {
  const start = useWorlds(open);

  /** Three tasks run on A: `first`, submitted first, asks last; `silent` asks nothing. One is pending. */
  async function arrange() {
    const world = await start();
    await world.gateway.registerAgent(buildRegistration('A', { max_concurrent: 9 }));
    await world.runUntilIdle();
    const ids = {
      first: await submitLong(world, { payload: { name: 'first' } }),
      second: await submitLong(world, { payload: { name: 'second' }, cli_session_id: 'mine' }),
      silent: await submitLong(world, { payload: { name: 'silent' } }),
    };
    await submitLong(world, { payload: { name: 'pending' }, task_tags: ['none'], queue_timeout: 600 });
    await ask(world, ids.second, 'colour');
    await world.clock.advance(60_000);
    await ask(world, ids.first, 'deploy', 'when');
    await world.clock.advance(5_000);
    return { world, ...ids };
  }

  async function ask(world: World, request_id: string, ...keys: readonly string[]): Promise<void> {
    const asked = keys.map((key, at) => ({ key, prompt: `${key}?`, at }));
    const pieces = asked.map(({ at: _at, ...question }) => JSON.stringify({ question }));
    await write(world, request_id, [], { pieces, questions: asked });
  }

  const answer = ({ gateway }: World, request_id: string, key: string) =>
    gateway.answerTask({ request_id, key, answer: 'yes' });
  async function list({ gateway }: World, filter: TaskFilter, limit = 100): Promise<readonly string[]> {
    const names: string[] = [];
    for (let cursor: string | undefined, pages = 0; pages < 20; pages += 1) {
      const page = await gateway.listTasks({ ...filter, limit, ...(cursor && { cursor }) });
      names.push(...page.tasks.map(({ payload_preview }) => JSON.parse(payload_preview).name));
      if (page.next_cursor === null) break;
      cursor = page.next_cursor;
    }
    return names;
  }
  const count = ({ gateway }: World, filter: TaskFilter) => countTasks(gateway, filter);
  const WAITING = { waiting_for_answer: true } as const;

  test('are listed, who has waited longest first, alone or by other filters, page by page', async () => {
    const { world, first, second } = await arrange();
    for (const limit of [1, 100]) {
      expect(await list(world, WAITING, limit)).toEqual(['second', 'first']);
      expect(await list(world, { waiting_for_answer: false }, limit)).toEqual(['pending', 'silent']);
    }
    expect(await list(world, { ...WAITING, status: ['running'], agent: 'A' })).toEqual(['second', 'first']);
    expect(await list(world, { ...WAITING, session: 'mine' })).toEqual(['second']);
    expect(await list(world, { ...WAITING, id: first })).toEqual(['first']);
    for (const none of [{ status: ['pending'] }, { outcome: ['failed'] }, { waiting: true }] as const)
      expect(await list(world, { ...WAITING, ...none })).toEqual([]);
    const { tasks } = await world.gateway.listTasks({ limit: 9 });
    expect(tasks.map((row) => row.waiting_for_answer)).toEqual([false, false, true, true]);
    await answer(world, second, 'colour');
    await answer(world, first, 'deploy');
    expect(await list(world, WAITING)).toEqual(['first']);
    await world.gateway.cancelTask(first);
    expect(await list(world, WAITING)).toEqual([]);
  });

  test('are counted, whatever else is asked for', async () => {
    const { world, second } = await arrange();
    const by_status = { pending: 1, running: 3, success: 0, failed: 0 };
    const counts = { complete: true, by_status, waiting: 1, waiting_for_answer: 2 };
    // By a type they are counted by looking, else by the store.
    for (const more of [{}, { type: 't' }]) {
      for (const [filter, total] of [
        [{}, 4],
        [WAITING, 2],
        [{ waiting_for_answer: false }, 2],
        [{ ...WAITING, status: ['running'] }, 2],
        [{ ...WAITING, status: ['pending'] }, 0],
        [{ waiting_for_answer: false, status: ['running'] }, 1],
        [{ waiting_for_answer: false, status: ['pending'] }, 1],
        [{ ...WAITING, waiting: true }, 0],
        [{ ...WAITING, waiting: false }, 2],
        [{ waiting_for_answer: false, waiting: true }, 1],
        [{ ...WAITING, outcome: ['failed'] }, 0],
      ] as const)
        expect(
          await count(world, { ...more, ...filter }),
          JSON.stringify({ ...more, ...filter }),
        ).toMatchObject({ total, ...counts });
    }
    await world.gateway.cancelTask(second);
    expect(await count(world, { waiting_for_answer: false })).toMatchObject({
      total: 3,
      waiting_for_answer: 1,
    });
    expect(await count(world, WAITING)).toMatchObject({ total: 1, waiting_for_answer: 1 });
  });

  test('are a note of the overview, which names the one that has waited longest', async () => {
    const { world, first, second } = await arrange();
    const read = async () => {
      await world.clock.advance(1_100);
      const { tasks, problems } = await world.gateway.getOverview(9);
      return { tasks, notes: problems.filter(({ code }) => code === 'waiting_for_answer') };
    };
    const task = await world.gateway.explainTask(second);
    expect(await read()).toEqual({
      tasks: { waiting: 1, running: 3, waiting_for_answer: 2 },
      notes: [
        {
          code: 'waiting_for_answer',
          severity: 'note',
          since: task.questions[0]?.asked_time,
          text: '2 tasks wait for an answer. First agent `A` asked for `colour` 1 min 6 s ago; that task fails in 58 min at the latest.',
          help: 'Answer with `POST /api/cli/tasks/{request_id}/answer`, or cancel it.',
          tag: null,
          agent_id: null,
          task_type: null,
          request_id: second,
          count: 2,
        },
      ],
    });
    await answer(world, second, 'colour');
    const { notes } = await read();
    expect(notes).toMatchObject([{ request_id: first, count: 1 }]);
    expect(notes[0]?.text).toMatch(
      /^1 task waits for an answer: agent `A` asked for `deploy` .* ago, and it fails in /,
    );
    await answer(world, first, 'deploy');
    expect((await read()).notes).toMatchObject([{ request_id: first, count: 1 }]);
    await answer(world, first, 'when');
    expect(await read()).toEqual({ tasks: { waiting: 1, running: 3, waiting_for_answer: 0 }, notes: [] });
  });

  test('are cancelled together, and those that ask nothing are not', async () => {
    const { world } = await arrange();
    const cancellation = { request_ids: null, created_before: LATER, cursor: null };
    const cancel = (filter: TaskFilter, dry_run: boolean) =>
      world.gateway.cancelTasks({ ...cancellation, filter, dry_run });
    expect(await cancel({ ...WAITING, session: 'mine' }, true)).toMatchObject({ matched: 1, cancelled: 1 });
    expect(await cancel(WAITING, false)).toMatchObject({ matched: 2, cancelled: 2, next_cursor: null });
    expect(await cancel(WAITING, false)).toMatchObject({ matched: 0, cancelled: 0 });
    expect(await list(world, { status: ['pending', 'running'] })).toEqual(['pending', 'silent']);
  });

  describe('until their agent restarts', () => {
    test('and again once it asks again', async () => {
      const { world, second } = await arrange();
      await world.gateway.registerAgent(buildRegistration('A', { max_concurrent: 9 }));
      await write(world, second, ['again'], { writer: 'other' });
      expect(await list(world, WAITING)).toEqual(['first']);
      await world.clock.advance(1_000);
      const question = { key: 'colour', prompt: 'colour?' };
      await write(world, second, [], {
        writer: 'other',
        from: 1,
        pieces: [JSON.stringify({ question })],
        questions: [{ ...question, at: 1 }],
      });
      expect(await list(world, WAITING)).toEqual(['first', 'second']);
    });
  });
});
