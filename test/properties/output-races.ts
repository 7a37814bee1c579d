/** The races about a task's output and reply: its agent writes, and at the same moment it ends or moves. */
import { expect } from 'vitest';
import type { OutputItem } from '../../server/ports/gateway.ts';
import { BUSY } from '../harness/fake-pusher.ts';
import { buildRegistration, buildSubmission, NEVER } from '../harness/world.ts';
import type { Pair, Replica } from './pair.ts';
import type { Race } from './races.ts';

type Receipt = Awaited<ReturnType<Replica['gateway']['writeOutput']>>;

const write =
  (on: Replica, request_id: string, from: number, texts: readonly string[], more = {}) =>
  (): Promise<Receipt> =>
    on.gateway.writeOutput({
      request_id,
      agent_id: 'A',
      writer: 'w',
      from,
      pieces: texts.map((text) => JSON.stringify({ text })),
      ...more,
    });

/** Follows the output from its first piece to its end. */
const follow = (on: Replica, request_id: string) => async (): Promise<readonly OutputItem[]> => {
  const open = await on.gateway.followOutput(request_id, 0);
  const items: OutputItem[] = [];
  for await (const item of open?.(NEVER) ?? []) items.push(item);
  return items;
};

const report = (on: Replica, request_id: string, status: 'running' | 'success', result: object) => () =>
  on.gateway.reportResult({ request_id, agent_id: 'A', status, result: { ...result } });

async function startTask(pair: Pair): Promise<string> {
  await pair.one.gateway.registerAgent(buildRegistration('A'));
  const { request_id } = await pair.one.gateway.submitTask(buildSubmission({ timeout: 60 }));
  await pair.runUntilIdle();
  return request_id;
}

async function startWriting(pair: Pair): Promise<string> {
  const request_id = await startTask(pair);
  await write(pair.one, request_id, 0, ['a'])();
  return request_id;
}

/** The texts of the output; a reset is `/`. */
async function textsOf(pair: Pair, request_id: string): Promise<readonly string[]> {
  const { pieces } = await pair.two.gateway.readOutput(request_id, 0, 0, NEVER);
  expect(pieces.map(({ n }) => n)).toEqual(pieces.map((_, index) => index + 1));
  return pieces.map(({ json }) => JSON.parse(json).text ?? '/');
}

function receiptOf(result: PromiseSettledResult<unknown> | undefined): Receipt | undefined {
  return result?.status === 'fulfilled' ? (result.value as Receipt) : undefined;
}

/** A reader had what the page has, then the end; and the page has what was accepted. */
async function requireExactEnd(
  results: readonly PromiseSettledResult<unknown>[],
  pair: Pair,
  request_id: string,
): Promise<void> {
  const [followed, written] = results;
  const texts = await textsOf(pair, request_id);
  expect(texts).toEqual(receiptOf(written)?.accepted ? ['a', 'b'] : ['a']);
  const items = followed?.status === 'fulfilled' ? (followed.value as readonly OutputItem[]) : [];
  const pieces = items.flatMap((item) => ('pieces' in item ? item.pieces : []));
  expect(pieces.map(({ json }) => JSON.parse(json).text)).toEqual(texts);
  expect(items.at(-1)).toMatchObject({ n: texts.length + 1 });
}

/** By name, as the suites title them. */
export const OUTPUT_RACES: Record<string, Race> = {
  'reply × report': {
    prepare: startTask,
    work: ({ one, two }, id) => [
      report(one, id, 'running', { reply: 'on it' }),
      report(two, id, 'success', { output: 'done' }),
    ],
    async requireResults([replied], { one, store }, id) {
      expect(replied?.status).toBe('fulfilled');
      const { accepted } = (replied as PromiseFulfilledResult<{ accepted: boolean }>).value;
      const { task } = await one.gateway.getTask(id, 0, NEVER);
      expect(task.result).toEqual({ output: 'done', ...(accepted && { reply: 'on it' }) });
      expect(await store.get('details', id)).toBeUndefined();
    },
  },
  'follow × write × report': {
    prepare: startWriting,
    work: ({ one, two }, id) => [
      follow(two, id),
      write(one, id, 1, ['b']),
      () => two.gateway.reportResult({ request_id: id, agent_id: 'A', status: 'success' }),
    ],
    requireResults: requireExactEnd,
  },
  'follow × write × cancel': {
    prepare: startWriting,
    work: ({ one, two }, id) => [follow(one, id), write(two, id, 1, ['b']), () => two.gateway.cancelTask(id)],
    requireResults: requireExactEnd,
  },
  'first write × the same at another replica': {
    prepare: startTask,
    work: ({ one, two }, id) => [write(one, id, 0, ['a', 'b']), write(two, id, 0, ['a', 'b'])],
    async requireResults(results, pair, id) {
      expect(results.map((one) => receiptOf(one)?.next)).toEqual([2, 2]);
      expect(await textsOf(pair, id)).toEqual(['a', 'b']);
    },
  },
  'first write × cancel': {
    prepare: startTask,
    work: ({ one, two }, id) => [write(one, id, 0, ['a']), () => two.gateway.cancelTask(id)],
    async requireResults([written], pair, id) {
      expect(await textsOf(pair, id)).toEqual(receiptOf(written)?.accepted ? ['a'] : []);
    },
  },
  'write × write after a restart': {
    prepare: startWriting,
    work: ({ one, two }, id) => [write(one, id, 1, ['b']), write(two, id, 0, ['x'], { writer: 'restarted' })],
    async requireResults([earlier, later], pair, id) {
      expect(receiptOf(later)).toMatchObject({ accepted: true, next: 1 });
      const before = receiptOf(earlier) ? ['a', 'b'] : ['a'];
      expect(await textsOf(pair, id)).toEqual([...before, '/', 'x']);
    },
  },
  'first write of a process that is gone × write of its successor': {
    async prepare(pair) {
      const request_id = await startWriting(pair);
      await write(pair.one, request_id, 0, ['x'], { writer: 'restarted' })();
      return request_id;
    },
    work: ({ one, two }, id) => [write(one, id, 0, ['a']), write(two, id, 1, ['y'], { writer: 'restarted' })],
    async requireResults([late, present], pair, id) {
      expect(late).toMatchObject({ reason: { errors: [{ pointer: '/from' }] } });
      expect(receiptOf(present)).toMatchObject({ accepted: true, next: 2 });
      expect(await textsOf(pair, id)).toEqual(['a', '/', 'x', 'y']);
    },
  },
  'write × register without the task': {
    prepare: startWriting,
    work: ({ one, two }, id) => [
      write(one, id, 1, ['b']),
      () => two.gateway.registerAgent(buildRegistration('A', { request_ids: [] })),
    ],
    async requireResults([written], pair, id) {
      expect(await textsOf(pair, id)).toEqual(receiptOf(written)?.accepted ? ['a', 'b'] : ['a']);
      await expect(write(pair.one, id, 2, ['c'])()).rejects.toMatchObject({ errors: [{ pointer: '/from' }] });
    },
  },
  'first write × move': {
    /** A is busy with the task, and B has room for it. */
    async prepare(pair) {
      pair.pusher.script('http://A.test/tasks', BUSY);
      const request_id = await startTask(pair);
      await pair.one.gateway.registerAgent(buildRegistration('B'));
      await pair.clock.advance(2_000);
      return request_id;
    },
    work: ({ one, two }, id) => [write(one, id, 0, ['a']), async () => await two.duties.runDuePass()],
    async requireResults([written], pair, id) {
      const { task } = await pair.one.gateway.getTask(id, 0, NEVER);
      expect(task.agent_id).toBe(receiptOf(written) ? 'A' : 'B');
      expect(await textsOf(pair, id)).toEqual(receiptOf(written) ? ['a'] : []);
      // The other cases of the invariants are about the slots of A.
      await pair.one.gateway.cancelTask(id);
    },
  },
};
