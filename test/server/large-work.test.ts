/** Turns for large work: which caller is next, who is refused, and how much of the time it takes. */
import { describe, expect, test } from 'vitest';
import { createLargeWork } from '../../server/async/large-work.ts';
import { createRotation } from '../../server/async/rotation.ts';
import type { Caller } from '../../server/ports/caller.ts';
import { realClock } from '../harness/http-server.ts';

const callerOf = (key: string, isGone = (): boolean => false): Caller => ({ key, isGone });

/** Adds pieces by their callers and takes all of them. */
function takeAll(callers: readonly string[]): readonly (string | undefined)[] {
  const rotation = createRotation<string>();
  for (const key of callers) rotation.add(callerOf(key), key);
  return callers.map(() => rotation.take());
}

describe('the next caller', () => {
  test('is by turns the one that has waited longest and the one that came last', () => {
    expect(takeAll(['a', 'b', 'c', 'd', 'e'])).toEqual(['a', 'e', 'b', 'd', 'c']);
  });

  test('is not one that was next before while another waits for its first', () => {
    expect(takeAll(['a', 'a', 'a', 'a', 'b', 'c'])).toEqual(['a', 'c', 'b', 'a', 'a', 'a']);
  });

  test('of two hundred that wait, one that comes now is among the first two', () => {
    const rotation = createRotation<string>();
    for (let n = 0; n < 200; n += 1) rotation.add(callerOf(`crowd ${n}`), 'crowd');
    for (let n = 0; n < 10; n += 1) rotation.take();
    rotation.add(callerOf('late'), 'late');
    expect([rotation.take(), rotation.take()]).toContain('late');
  });

  test('is not one that took much lately and asks again, although it came last', () => {
    const rotation = createRotation<string>((key) => key === 'greedy');
    for (const key of ['a', 'late', 'greedy']) rotation.add(callerOf(key), key);
    expect([rotation.take(), rotation.take(), rotation.take()]).toEqual(['a', 'late', 'greedy']);
  });

  test('is absent when nothing waits', () => {
    expect(createRotation().take()).toBe(undefined);
  });
});

describe('large work', () => {
  test('runs one piece at a time, what ends a call first, then what is small after what was large', async () => {
    const work = createLargeWork(realClock);
    const done: string[] = [];
    const run = (name: string, order: 'holding' | 'small' | 'large'): Promise<void> =>
      work.run({ caller: callerOf(name), order }, async () => {
        done.push(`${name} begins`);
        await new Promise((resolve) => setImmediate(resolve));
        done.push(name);
      });
    await Promise.all([
      run('one', 'large'),
      run('two', 'large'),
      run('three', 'small'),
      run('four', 'holding'),
      run('five', 'large'),
    ]);
    expect(done).toEqual(['one', 'four', 'three', 'five', 'two'].flatMap((name) => [`${name} begins`, name]));
  });

  test('of six callers with long large pieces, lets a small one wait for one of them at most', async () => {
    let nowMs = 0;
    const clock = { ...realClock, monotonicMs: () => nowMs, sleep: async () => undefined };
    const work = createLargeWork(clock);
    const done: string[] = [];
    const run = (name: string, order: 'small' | 'large', ms: number): Promise<void> =>
      work.run({ caller: callerOf(name), order }, () => {
        nowMs += ms;
        done.push(name);
      });
    const reading = [1, 2, 3, 4, 5, 6].map(async (n) => {
      for (let page = 0; page < 5; page += 1) {
        await run(`small ${n}`, 'small', 1);
        await run(`large ${n}`, 'large', 20);
      }
    });
    const largeBetween: number[] = [];
    const listing = async (): Promise<void> => {
      for (let n = 0; n < 3; n += 1) {
        const from = done.length;
        await run('own', 'small', 1);
        const between = done.slice(from, done.lastIndexOf('own'));
        largeBetween.push(between.filter((name) => name.startsWith('large')).length);
      }
    };
    await Promise.all([...reading, listing()]);
    expect(done).toHaveLength(6 * 5 * 2 + 3);
    expect(Math.max(...largeBetween)).toBeLessThanOrEqual(1);
  });

  test('of long small pieces, lets a large one wait for no more than their own time', async () => {
    let nowMs = 0;
    const clock = { ...realClock, monotonicMs: () => nowMs, sleep: async () => undefined };
    const work = createLargeWork(clock);
    const done: string[] = [];
    const run = (name: 'small' | 'large'): Promise<void> =>
      work.run({ caller: callerOf(name), order: name }, () => {
        nowMs += 20;
        done.push(name);
      });
    const many = (name: 'small' | 'large') => Array.from({ length: 10 }, () => run(name));
    await Promise.all([...many('small'), ...many('large')]);
    expect(done.slice(0, 10).filter((name) => name === 'large').length).toBeGreaterThanOrEqual(4);
  });

  test('ends a call that has read its value before any other begins, and before it pauses', async () => {
    const sleeps: string[] = [];
    const done: string[] = [];
    let nowMs = 0;
    const clock = {
      ...realClock,
      monotonicMs: () => nowMs,
      sleep: async () => void sleeps.push(done.join()),
    };
    const work = createLargeWork(clock);
    const call = async (name: string): Promise<void> => {
      for (const order of ['large', 'holding'] as const) {
        await work.run({ caller: callerOf(name), order }, () => {
          nowMs += 10;
          done.push(`${name} ${order}`);
        });
      }
    };
    await Promise.all([call('a'), call('b')]);
    expect(done).toEqual(['a large', 'a holding', 'b large', 'b holding']);
    expect(sleeps[0]).toBe('a large,a holding');
  });

  test('settles as the work does, and goes on after an error', async () => {
    const work = createLargeWork(realClock);
    const position = { caller: callerOf('a'), order: 'large' } as const;
    const failing = work.run(position, () => Promise.reject(new Error('broken')));
    const next = work.run(position, () => 7);
    await expect(failing).rejects.toThrow('broken');
    expect(await next).toBe(7);
  });

  test('is not done for a caller that has left', async () => {
    const work = createLargeWork(realClock);
    let hasRun = false;
    const gone = work.run({ caller: callerOf('a', () => true), order: 'large' }, () => {
      hasRun = true;
    });
    await expect(gone).rejects.toMatchObject({ code: 'busy' });
    expect(hasRun).toBe(false);
  });

  test('refuses a read that has waited too long, and nothing else', async () => {
    let nowMs = 0;
    const work = createLargeWork({ ...realClock, monotonicMs: () => nowMs });
    const first = work.run({ caller: callerOf('a'), order: 'large' }, async () => {
      await new Promise((resolve) => setImmediate(resolve));
      nowMs += 11_000;
    });
    const read = work.run({ caller: callerOf('b'), order: 'large', isRead: true }, () => 'read');
    const other = work.run({ caller: callerOf('c'), order: 'large' }, () => 'other');
    await first;
    await expect(read).rejects.toMatchObject({ code: 'busy' });
    expect(await other).toBe('other');
  });
});
