/**
 * A handler's `write`: its pieces arrive whole, in order and once, before the result, whatever happens to the
 * calls; and it ends where the gateway takes no more.
 */
import { expect, test } from 'vitest';
import { createUnsent } from '../../sdk/agent/unsent.ts';
import { agent, clock, events, failures, gateway, startTask } from './agent-fixture.ts';
import { json } from './scripted-fetch.ts';
import { problem } from './scripted-server.ts';
import { elapse, pass } from './sdk-clock.ts';

/** Data of this many levels. */
const nest = (levels: number): object => JSON.parse('['.repeat(levels) + ']'.repeat(levels));
const writes = () => gateway.bodies('output');
const textOf = (pieces: readonly Record<string, unknown>[]) =>
  pieces.map(({ text, data }) => text ?? JSON.stringify(data)).join('');
const outcome = () => gateway.outcomes.get('task-1');

test('Text of 100 ms is one piece of one call; data keeps its place between texts.', async () => {
  const task = await startTask();
  for (const word of ['Page ', '1 ', 'is ', 'done.']) {
    await task.write(word);
    await pass(clock, 20, 10);
  }
  expect(writes()).toHaveLength(0);
  await pass(clock, 100, 10);
  expect(writes()).toHaveLength(1);
  await Promise.all([task.write('a'), task.write({ page: 1 }), task.write('b'), task.write('')]);
  await pass(clock, 200);
  await task.end();
  expect(gateway.pieces).toEqual([
    { text: 'Page 1 is done.' },
    { text: 'a' },
    { data: { page: 1 } },
    { text: 'b' },
  ]);
  const [first, second] = writes();
  expect(first).toMatchObject({ agent_id: '译者 1', request_id: 'task-1', from: 0 });
  expect(second).toMatchObject({ from: 1, writer: first?.writer });
  expect(String(first?.writer)).toMatch(/^.{1,64}$/);
});

test('A long text is cut into pieces of 4 KiB, never within a character, and goes out at once.', async () => {
  const task = await startTask();
  const text = `x${'😀'.repeat(20_000)}\u0000${'"'.repeat(70_000)}`;
  await task.write(text);
  await pass(clock, 20, 10);
  await task.end();
  expect(textOf(gateway.pieces)).toBe(text);
  for (const { text: piece } of gateway.pieces) {
    expect(String(piece).length).toBeLessThanOrEqual(4_097);
    expect(String(piece).isWellFormed()).toBe(true);
  }
  for (const write of writes()) {
    expect(JSON.stringify(write).length).toBeLessThanOrEqual(65_536);
    expect(Buffer.byteLength(JSON.stringify(write))).toBeLessThanOrEqual(65_536);
    expect((write.pieces as unknown[]).length).toBeLessThanOrEqual(100);
  }
});

test('All is sent before the result, also what was written last and not awaited.', async () => {
  const task = await startTask();
  const order: string[] = [];
  gateway.respondToWrite = () => {
    order.push('output');
    return undefined;
  };
  gateway.respondToReport = ({ status }) => {
    order.push(String(status));
    return undefined;
  };
  void task.write('the last words');
  await task.end();
  expect(order).toEqual(['output', 'success']);
  expect(textOf(gateway.pieces)).toBe('the last words');
});

test.each([
  ['no response although it is stored', (): Response | null => null],
  ['no response', () => Response.error()],
  ['503', () => json(problem(503, 'busy'), 503)],
  ['agent_not_found', () => json(problem(404, 'agent_not_found'), 404)],
  ['401, as while the secret changes', () => json(problem(401, 'unauthorized'), 401)],
])('After %s the same call is repeated: no hole, nothing twice.', async (_what, respond) => {
  const task = await startTask();
  let calls = 0;
  gateway.respondToWrite = (): Response | null | undefined => {
    calls += 1;
    return calls % 3 === 0 ? undefined : respond();
  };
  let expected = '';
  for (let page = 1; page <= 12; page += 1) {
    await task.write(`page ${page}\n`);
    expected += `page ${page}\n`;
    await pass(clock, 150, 50);
  }
  await pass(clock, 60_000, 500);
  expect(textOf(gateway.pieces)).toBe(expected);
  const sent = writes().map(({ from, pieces }) => JSON.stringify([from, pieces]));
  expect(sent[1]).toBe(sent[0]);
  expect(failures()).toContain('output');
  await task.end();
  expect(outcome()).toMatchObject({ status: 'success' });
  gateway.respondToWrite = undefined;
});

test('While the function for the secret fails, what is written waits; then it arrives, and all that follows.', async () => {
  let isDown = false;
  const auth = (): string => {
    if (isDown) throw new Error('the vault is down');
    return 'a-good-secret';
  };
  const task = await startTask({ auth });
  for (const word of ['one ', 'two ', 'three']) {
    isDown = word === 'two ';
    await task.write(word);
    await pass(clock, 3_000);
  }
  expect(textOf(gateway.pieces)).toBe('one two three');
  expect(failures()).toContain('output');
  await task.end();
  expect(outcome()).toMatchObject({ status: 'success' });
});

test('A handler that waits for write is held back while 1 MiB is unsent, and loses nothing.', async () => {
  const task = await startTask();
  gateway.respondToWrite = () => json(problem(503, 'busy'), 503);
  const chunk = 'x'.repeat(1_024);
  let written = 0;
  const writing = (async () => {
    for (let count = 0; count < 2_000; count += 1) {
      await task.write(chunk);
      written += 1;
    }
  })();
  await pass(clock, 30_000, 500);
  expect(written).toBe(1_023);
  gateway.respondToWrite = undefined;
  await elapse(clock, writing, 500);
  await task.end();
  await pass(clock, 10_000, 500);
  expect(textOf(gateway.pieces)).toBe(chunk.repeat(2_000));
});

test('A handler that writes small data in a loop lets the rest of the process go on.', async () => {
  const task = await startTask();
  let turns = 0;
  const count = (): void => {
    turns += 1;
    turning = setImmediate(count);
  };
  let turning = setImmediate(count);
  for (let row = 0; row < 20_000; row += 1) await task.write({ row });
  clearImmediate(turning);
  expect(turns).toBeGreaterThanOrEqual(100);
  await pass(clock, 1_000);
  await task.end();
});

test('A piece is added without a look at those that wait, however many there are.', () => {
  const unsent = createUnsent();
  for (let row = 0; row < 1_000; row += 1) unsent.add({ row });
  const looked = countIterated(() => {
    unsent.add({ row: 1_000 });
    unsent.canGrow();
  });
  expect(looked).toBeLessThan(10);
});

/** How many items of arrays are taken one after the other meanwhile. */
function countIterated(work: () => void): number {
  const iterate = Array.prototype[Symbol.iterator];
  let items = 0;
  Array.prototype[Symbol.iterator] = function* () {
    for (let index = 0; index < this.length; index += 1) {
      items += 1;
      yield this[index];
    }
    return undefined;
  };
  try {
    work();
  } finally {
    Array.prototype[Symbol.iterator] = iterate;
  }
  return items;
}

test('A handler that does not wait loses what is beyond 1 MiB, and a piece says how much, in its place.', async () => {
  const task = await startTask();
  const chunk = 'x'.repeat(65_536);
  for (let count = 0; count < 20; count += 1) void task.write(chunk);
  void task.write({ page: 1 });
  await pass(clock, 10_000);
  await task.write('behind');
  await pass(clock, 200);
  await task.end();
  const lost = '\n[262144 characters and 1 pieces of data were lost: the handler did not wait for write()]\n';
  expect(textOf(gateway.pieces)).toBe(`${chunk.repeat(16)}${lost}behind`);
});

test.each([
  [
    'accepted: false',
    () => json({ ok: true, request_id: 'task-1', status: 'running', accepted: false, next: 1 }),
  ],
  ['a writer that was replaced', () => json(problem(422, 'validation_failed'), 422)],
  ['a gateway without outputs', () => json(problem(404, 'route_not_found'), 404)],
])(
  'With %s nothing more is written, write resolves at once, and the task ends as it would.',
  async (_what, respond) => {
    const task = await startTask();
    gateway.respondToWrite = respond;
    await task.write('x'.repeat(2_000_000));
    await pass(clock, 1_000);
    for (let count = 0; count < 5; count += 1) await task.write('y'.repeat(1_000_000));
    await pass(clock, 5_000);
    expect(writes()).toHaveLength(1);
    await task.end();
    expect(outcome()).toMatchObject({ status: 'success', result: { output: 'done' } });
  },
);

test.each([
  ['task_not_found', () => json(problem(404, 'task_not_found'), 404)],
  ['agent_mismatch', () => json(problem(400, 'agent_mismatch'), 400)],
  [
    'a receipt of a task that is over',
    () => json({ ok: true, request_id: 'task-1', status: 'failed', accepted: false, next: 0 }),
  ],
])('On %s the task is dropped.', async (_what, respond) => {
  const task = await startTask();
  gateway.respondToWrite = respond;
  await task.write('lost');
  await pass(clock, 1_000);
  expect(task.signal.aborted).toBe(true);
  expect(events.map(({ kind }) => kind)).toContain('dropped');
  await task.end();
  expect(outcome()).toBeUndefined();
});

test.each([
  ['busy', 'again and again'],
  ['store_unavailable', 'for a minute, as one whose store is nearly full'],
])('A gateway that refuses the last pieces with %s, %s, gets the result all the same.', async (code) => {
  const task = await startTask();
  gateway.respondToWrite = () => json(problem(503, code), 503);
  void task.write('refused');
  await task.end();
  expect(outcome()).toBeUndefined();
  await pass(clock, 60_000, 500);
  expect(outcome()).toMatchObject({ status: 'success' });
});

test('An agent that stops sends the last pieces before it has stopped.', async () => {
  const task = await startTask();
  const stopped = agent?.stop();
  await task.write('the last words');
  await task.end();
  await elapse(clock, stopped ?? Promise.resolve());
  expect(textOf(gateway.pieces)).toBe('the last words');
  expect(outcome()).toMatchObject({ status: 'success' });
});

test('An agent that stops at once does not wait for a gateway that takes no pieces.', async () => {
  const task = await startTask();
  gateway.respondToWrite = () => Response.error();
  await task.write('never sent');
  await pass(clock, 5_000);
  void task.end();
  const stopped = agent?.stop({ drainMs: 0, graceMs: 1_000 });
  await elapse(clock, stopped ?? Promise.resolve());
  expect(outcome()).toMatchObject({ status: 'success' });
});

test('Data that JSON can’t write, above 60,000 bytes or too deep fails the handler that waits for it and no other.', async () => {
  const task = await startTask();
  const circle: Record<string, unknown> = {};
  circle.self = circle;
  await expect(task.write(circle)).rejects.toThrow(/can’t be written as JSON/);
  await expect(task.write({ text: '字'.repeat(30_000) })).rejects.toThrow(/at most 60000 bytes/);
  await expect(task.write(nest(98))).rejects.toThrow(/at most 97 levels/);
  // The handler does not wait for it: it ends nothing.
  void task.write(circle);
  const changed = { page: 1 };
  void task.write(changed);
  changed.page = 2;
  await pass(clock, 200);
  await task.end();
  expect(gateway.pieces).toEqual([{ data: { page: 1 } }]);
  expect(outcome()).toMatchObject({ status: 'success' });
});
