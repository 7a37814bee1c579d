/** The queue of one for passes over large values. */
import { expect, test } from 'vitest';
import { createLargeWork, passOver } from '../../server/async/large-work.ts';

const LARGE = 'x'.repeat(70_000);
const nextTick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('one piece runs at a time, in the order of the calls, and everything else runs in between', async () => {
  const work = createLargeWork();
  const done: string[] = [];
  const run = (name: string): Promise<void> =>
    work.run(async () => {
      done.push(`${name} begins`);
      await nextTick();
      done.push(`${name} ends`);
    });
  const all = Promise.all([run('one'), run('two')]);
  setImmediate(() => done.push('a small call'));
  await all;
  expect(done).toEqual(['one begins', 'a small call', 'one ends', 'two begins', 'two ends']);
});

test('short pieces do not follow one another within a tick', async () => {
  const work = createLargeWork();
  let ticks = 0;
  const tick = (): void => {
    ticks += 1;
    if (ticks < 100) setImmediate(tick);
  };
  setImmediate(tick);
  const seen: number[] = [];
  await Promise.all([1, 2, 3].map(() => work.run(() => seen.push(ticks))));
  expect(new Set(seen).size).toBe(3);
});

test('a piece that fails rejects for its call alone', async () => {
  const work = createLargeWork();
  const failing = work.run(() => {
    throw new Error('no');
  });
  const next = work.run(() => 'next');
  await expect(failing).rejects.toThrow('no');
  expect(await next).toBe('next');
});

test('a small value has no place in the queue, and its caller nothing to wait for', async () => {
  const work = createLargeWork();
  expect(passOver(work, { text: 'small' }, (isLarge) => isLarge)).toBe(false);
  expect(await passOver(work, { text: LARGE }, (isLarge) => isLarge)).toBe(true);
});
