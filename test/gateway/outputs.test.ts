/** A task's output through the gateway: who may write, what a repeat is, and what ends a writer. */
import { describe, expect, test } from 'vitest';
import { isSettled } from '../../server/domain/task.ts';
import type { Batch, Store } from '../../server/ports/store.ts';
import { BUSY, REFUSED } from '../harness/fake-pusher.ts';
import { follow, RESET, readPage, text, textsOf, type Write, write } from '../harness/outputs.ts';
import { describeEachStore } from '../harness/stores.ts';
import { buildRegistration, type World } from '../harness/world.ts';
import { read, submit } from '../harness/world-calls.ts';
import { useWorlds } from '../harness/worlds.ts';

describeEachStore('output on %s', (_name, open) => {
  const start = useWorlds(open);

  async function startTask(more = {}): Promise<{ world: World; request_id: string }> {
    const world = await start(more);
    await world.gateway.registerAgent(buildRegistration('A'));
    return { world, request_id: await submit(world) };
  }

  describe('a writer', () => {
    test('adds pieces, which are numbered, and learns how many of its own are stored', async () => {
      const { world, request_id } = await startTask();
      const receipt = { ok: true, request_id, status: 'running', accepted: true };
      expect(await write(world, request_id, ['一', '二'])).toEqual({ ...receipt, next: 2 });
      expect(await write(world, request_id, ['三'], { from: 2 })).toEqual({ ...receipt, next: 3 });
      expect((await readPage(world, request_id)).pieces).toEqual(
        ['一', '二', '三'].map((value, index) => ({ n: index + 1, json: text(value) })),
      );
    });

    test('may repeat each call, also the first, and part of one', async () => {
      const { world, request_id } = await startTask();
      for (const _ of [1, 2]) await write(world, request_id, ['a', 'b']);
      expect(await write(world, request_id, ['b', 'c'], { from: 1 })).toMatchObject({ next: 3 });
      expect(await write(world, request_id, ['a'])).toMatchObject({ accepted: true, next: 3 });
      expect(await textsOf(world, request_id)).toEqual(['a', 'b', 'c'].map(text));
    });

    test('asks nothing in the place of a piece that is stored, and asks behind it', async () => {
      const { world, request_id } = await startTask();
      await write(world, request_id, ['a']);
      const [first, second] = [
        { key: 'first', prompt: '?' },
        { key: 'second', prompt: '?' },
      ];
      const pieces = [JSON.stringify({ question: first }), text('b')];
      const skipped = { pieces, questions: [{ ...first, at: 0 }] };
      expect(await write(world, request_id, [], skipped)).toMatchObject({ accepted: true, next: 2 });
      expect(await textsOf(world, request_id)).toEqual([text('a'), text('b')]);
      const both = [JSON.stringify({ question: first }), JSON.stringify({ question: second })];
      const questions = [
        { ...first, at: 1 },
        { ...second, at: 2 },
      ];
      const asked = await write(world, request_id, [], { from: 1, pieces: both, questions });
      expect(asked).toMatchObject({ accepted: true, next: 3 });
      expect((await world.gateway.explainTask(request_id)).questions.map(({ key }) => key)).toEqual([
        'second',
      ]);
    });

    test('that repeats what is stored gets what it got, also where the limit was reached since', async () => {
      const { world, request_id } = await startTask();
      const piece = 'x'.repeat(7 * 2 ** 17 - 100);
      for (const from of [0, 1, 2]) await write(world, request_id, [piece], { from });
      const question = { key: 'k', prompt: '?' };
      const asking = { from: 4, pieces: [JSON.stringify({ question })], questions: [{ ...question, at: 4 }] };
      await write(world, request_id, [piece], { from: 3 });
      expect(await write(world, request_id, [piece], { from: 4 })).toMatchObject({
        accepted: false,
        next: 4,
      });
      const stored = { accepted: true, status: 'running', next: 5 };
      expect(await write(world, request_id, [], asking)).toMatchObject(stored);
      expect(await write(world, request_id, [], asking)).toMatchObject(stored);
      expect(await write(world, request_id, [piece], { from: 3 })).toMatchObject(stored);
      expect(await write(world, request_id, ['more'], { from: 5 })).toMatchObject({
        accepted: false,
        next: 5,
      });
    });

    test('that asks while its task settles learns that it has', async () => {
      const { world, request_id } = await startTask();
      await write(world, request_id, ['a']);
      const question = { key: 'k', prompt: '?' };
      const asking = { from: 1, pieces: [JSON.stringify({ question })], questions: [{ ...question, at: 1 }] };
      const [receipt] = await world.clock.drive(
        Promise.all([write(world, request_id, [], asking), world.gateway.cancelTask(request_id)]),
      );
      expect(receipt).toMatchObject({ accepted: false, status: 'failed' });
    });

    test('begins once, however often its first call comes at once', async () => {
      const { world, request_id } = await startTask();
      await write(world, request_id, ['before'], { writer: 'earlier' });
      const calls = [1, 2, 3, 4].map(() => write(world, request_id, ['a', 'b']));
      for (const call of await world.clock.drive(Promise.all(calls))) expect(call.next).toBe(2);
      expect(await textsOf(world, request_id)).toEqual([text('before'), RESET, text('a'), text('b')]);
    });

    test('is refused beyond what it has stored, with the right number', async () => {
      const { world, request_id } = await startTask();
      const refusal = (next: number) => ({
        code: 'validation_failed',
        errors: [{ pointer: '/from', detail: expect.any(String) }],
        message: `must be at most ${next}, the number of pieces that are stored of this writer`,
      });
      await expect(write(world, request_id, ['a'], { from: 1 })).rejects.toMatchObject(refusal(0));
      await write(world, request_id, ['a']);
      await expect(write(world, request_id, ['c'], { from: 2 })).rejects.toMatchObject(refusal(1));
      expect(await textsOf(world, request_id)).toEqual([text('a')]);
    });

    test('that restarts voids what came before, and the earlier one is out', async () => {
      const { world, request_id } = await startTask();
      await write(world, request_id, ['a', 'b']);
      expect(await write(world, request_id, ['c'], { writer: 'again' })).toMatchObject({ next: 1 });
      await expect(write(world, request_id, ['d'], { from: 2 })).rejects.toMatchObject({
        code: 'validation_failed',
        message: expect.stringContaining('at most 0'),
      });
      expect(await textsOf(world, request_id)).toEqual([text('a'), text('b'), RESET, text('c')]);
    });

    test('that was replaced does not begin again, however late its first call comes', async () => {
      const { world, request_id } = await startTask();
      await write(world, request_id, ['a', 'b']);
      await write(world, request_id, ['c'], { writer: 'again' });
      const first = () => write(world, request_id, ['a', 'b']);
      const asked = () => {
        const questions = [{ key: 'q', prompt: '?', at: 0 }];
        const pieces = ['{"question":{}}'];
        return world.gateway.writeOutput({
          request_id,
          agent_id: 'A',
          writer: 'w',
          from: 0,
          pieces,
          questions,
        });
      };
      for (const late of [first, asked])
        await expect(late()).rejects.toMatchObject({
          code: 'validation_failed',
          errors: [{ pointer: '/from', detail: expect.stringContaining('replaced: 0 of its pieces') }],
        });
      expect(await write(world, request_id, ['d'], { writer: 'again', from: 1 })).toMatchObject({ next: 2 });
      expect(await textsOf(world, request_id)).toEqual([text('a'), text('b'), RESET, text('c'), text('d')]);
    });

    test('acknowledges its task, also if the agent cannot be reached, and brings the agent back', async () => {
      const world = await start();
      world.pusher.script('http://A.test/tasks', REFUSED);
      await world.gateway.registerAgent(buildRegistration('A'));
      const request_id = await submit(world);
      await write(world, request_id, ['a']);
      const pushes = world.pusher.sent.length;
      await world.pass(60_000);
      expect(world.pusher.sent).toHaveLength(pushes);
      const { acknowledged, history } = await world.gateway.explainTask(request_id);
      expect(acknowledged).toBe(true);
      expect(history.map(({ event }) => event)).toContain('acknowledged');
    });

    test('is contact: an agent that writes is not offline', async () => {
      const { world, request_id } = await startTask();
      await world.gateway.heartbeatAgent({ agent_id: 'A' });
      for (let from = 0; from < 6; from += 1) {
        await write(world, request_id, ['a'], { from });
        await world.pass(60_000);
      }
      expect(await world.gateway.getAgent('A')).toMatchObject({ state: 'processing' });
    });

    test('must be the agent that has the task', async () => {
      const { world, request_id } = await startTask();
      await world.gateway.registerAgent(buildRegistration('B', { agent_tags: [] }));
      const refuse = (more: Partial<Write>, code: string) =>
        expect(write(world, more.request_id ?? request_id, ['a'], more)).rejects.toMatchObject({ code });
      await refuse({ agent_id: 'B' }, 'agent_mismatch');
      await refuse({ agent_id: 'unknown' }, 'agent_not_found');
      await refuse({ request_id: 'nothing' }, 'task_not_found');
      const pending = await submit(world, { queue_timeout: 60 });
      await refuse({ request_id: pending }, 'agent_mismatch');
      await write(world, request_id, ['a']);
      await refuse({ agent_id: 'B' }, 'agent_mismatch');
      await world.gateway.cancelTask(request_id);
      await refuse({ agent_id: 'B' }, 'agent_mismatch');
    });

    test('learns when the task is over, and nothing is stored', async () => {
      const { world, request_id } = await startTask();
      await write(world, request_id, ['a']);
      await world.gateway.reportResult({ request_id, agent_id: 'A', status: 'success' });
      const over = { ok: true, request_id, status: 'success', accepted: false };
      expect(await write(world, request_id, ['b'], { from: 1 })).toEqual({ ...over, next: 1 });
      expect(await write(world, request_id, ['b'], { writer: 'other' })).toEqual({ ...over, next: 0 });
      expect(await textsOf(world, request_id)).toEqual([text('a')]);
    });

    test('is out when the task moves; the next agent begins with a reset', async () => {
      const world = await start();
      world.pusher.script('http://E.test/tasks', BUSY);
      await world.gateway.registerAgent(buildRegistration('E'));
      const request_id = await submit(world);
      await write(world, request_id, ['a'], { agent_id: 'E' });
      // It registers again without the task: it has not taken it.
      await world.gateway.registerAgent(buildRegistration('E', { request_ids: [] }));
      await expect(write(world, request_id, ['b'], { agent_id: 'E', from: 1 })).rejects.toMatchObject({
        message: expect.stringContaining('at most 0'),
      });
      await world.gateway.registerAgent(buildRegistration('A'));
      await world.pass(2_000);
      expect(await read(world, request_id)).toMatchObject({ agent_id: 'A' });
      for (const from of [0, 1])
        await expect(write(world, request_id, ['b'], { agent_id: 'E', from })).rejects.toMatchObject({
          code: 'agent_mismatch',
        });
      await write(world, request_id, ['c']);
      expect(await textsOf(world, request_id)).toEqual([text('a'), RESET, text('c')]);
    });
  });

  test('at its limit a task takes no more output, and goes on to its result', async () => {
    const { world, request_id } = await startTask();
    const piece = 'x'.repeat(7 * 2 ** 17 - 100);
    for (const from of [0, 1, 2, 3]) await write(world, request_id, [piece], { from });
    const full = { status: 'running', accepted: false, next: 4 };
    expect(await write(world, request_id, [piece], { from: 4 })).toMatchObject(full);
    expect(await write(world, request_id, ['short'], { from: 4 })).toMatchObject(full);
    await world.gateway.reportResult({ request_id, agent_id: 'A', status: 'success' });
    const following = await follow(world, request_id, 4);
    await following?.ended;
    expect(following?.items).toEqual([{ n: 5, status: 'success', outcome: 'success', missing: 'truncated' }]);
    expect(await readPage(world, request_id, 4)).toMatchObject({ complete: true, missing: 'truncated' });
  });

  test('no commit of a task without output says anything about output, also when the task moves', async () => {
    const batches: Batch[] = [];
    const record = (store: Store): Store => ({
      ...store,
      commit(batch) {
        batches.push(batch);
        return store.commit(batch);
      },
    });
    const world = await start({ wrap: record });
    world.pusher.script('http://E.test/tasks', BUSY);
    await world.gateway.registerAgent(buildRegistration('E'));
    const request_id = await submit(world);
    await world.gateway.registerAgent(buildRegistration('E', { request_ids: [] }));
    await world.gateway.registerAgent(buildRegistration('A'));
    await world.pass(2_000);
    await world.gateway.reportResult({ request_id, agent_id: 'A', status: 'success' });
    const written = batches.flatMap(({ writes }) => writes).filter(({ kind }) => kind === 'task');
    expect(written.some(({ value }) => isSettled(value as never))).toBe(true);
    expect(batches.filter((batch) => 'output' in batch)).toEqual([]);
    for (const { value } of written) expect(value).not.toHaveProperty('hasOutput');
  });
});
