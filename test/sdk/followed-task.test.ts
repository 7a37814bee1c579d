/** `followTask`, which follows an existing task, and `readOutput` with how the task stands. */
import { expect, test } from 'vitest';
import type { OutputPiece, OutputStatus, Task } from '../../sdk/index.ts';
import { createOutputGateway, END, frame } from './run-gateway.ts';
import { elapse, pass } from './sdk-clock.ts';

test('An existing task is followed from a piece on, as it stands, to its end; the signal leaves it alone.', async () => {
  const gateway = createOutputGateway();
  const { client, clock, outputs, state } = gateway;
  state.task = { ...state.task, status: 'running', agent_id: 'a', progress: 40 };
  const got: OutputPiece[] = [];
  const shown: string[] = [];
  const following = client.followTask('task-1', {
    after: 2,
    onOutput: (piece) => got.push(piece),
    onProgress: ({ status, progress }: Task) => shown.push(`${status} ${progress}`),
  });
  const leaving = new AbortController();
  const left = client.followTask('task-1', { signal: leaving.signal }).catch((error: unknown) => error);
  await pass(clock, 100);
  leaving.abort();
  expect(await left).toMatchObject({ code: 'aborted', request_id: 'task-1' });
  expect(gateway.cancels()).toBe(0);
  expect(outputs[0]?.sent.headers.get('last-event-id')).toBe('2');
  outputs[0]?.write(frame({ status: 'running', progress: 60 }) + frame({ n: 3, text: 'three' }));
  await pass(clock, 100);
  gateway.succeed();
  outputs[0]?.write(frame({ n: 4, ...END }));
  expect(await elapse(clock, following)).toMatchObject({ status: 'success', request_id: 'task-1' });
  expect(got.map(({ n }) => n)).toEqual([3, 4]);
  expect(shown).toEqual(['running 40', 'running 60', 'success 100']);
  expect(clock.sleeping()).toBe(0);
});

test('A reader that asks for it gets how the task stands among the pieces.', async () => {
  const { client, clock, outputs } = createOutputGateway();
  const got: (OutputPiece | OutputStatus)[] = [];
  const reading = (async () => {
    for await (const item of client.readOutput('task-1', { withStatus: true })) got.push(item);
  })();
  await pass(clock, 100);
  outputs[0]?.write(frame({ status: 'running', progress: 1 }) + frame({ n: 1, text: 'one' }));
  outputs[0]?.write(frame({ status: 'running', progress: 2 }) + frame({ n: 2, ...END }));
  await elapse(clock, reading);
  expect(got.map((item) => (item.n === undefined ? `${item.progress} %` : item.n))).toEqual([
    '1 %',
    1,
    '2 %',
    2,
  ]);
});

test.each([Number.NaN, -1])('A number of a piece that is none, %s, is refused.', async (after) => {
  const { client } = createOutputGateway();
  const refused = { code: 'invalid_option', message: expect.stringContaining('after must be a number') };
  await expect(client.followTask('task-1', { after })).rejects.toMatchObject(refused);
  const reading = client.readOutput('task-1', { after })[Symbol.asyncIterator]();
  await expect(reading.next()).rejects.toMatchObject(refused);
});
