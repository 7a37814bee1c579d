/** A budget of bytes: what fits begins at once, the rest in its order, and what is too large runs alone. */
import { describe, expect, test } from 'vitest';
import { createByteBudget } from '../../server/async/byte-budget.ts';

const NEVER = new AbortController().signal;

describe('work under a budget of 10 bytes', () => {
  function createWork(signal = NEVER) {
    const budget = createByteBudget(10);
    const begun: string[] = [];
    const ends = new Map<string, PromiseWithResolvers<string>>();
    const run = (name: string, bytes: number, own = signal): Promise<string> => {
      const start = (): Promise<string> => {
        begun.push(name);
        const end = Promise.withResolvers<string>();
        ends.set(name, end);
        return end.promise;
      };
      return budget.run({ bytes, start }, own);
    };
    const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
    const end = async (name: string): Promise<void> => {
      ends.get(name)?.resolve(name);
      await turn();
    };
    return { begun, run, end, ends, turn };
  }

  test('begins while it fits, then in its order, and never overtakes', async () => {
    const { begun, run, end } = createWork();
    const all = [run('a', 6), run('b', 4), run('c', 8), run('d', 1)];
    expect(begun).toEqual(['a', 'b']);
    await end('b');
    expect(begun).toEqual(['a', 'b']);
    await end('a');
    expect(begun).toEqual(['a', 'b', 'c', 'd']);
    await end('c');
    await end('d');
    expect(await Promise.all(all)).toEqual(['a', 'b', 'c', 'd']);
  });

  test('that throws before it returns a promise rejects, and gives its bytes back', async () => {
    const budget = createByteBudget(10);
    const start = (): Promise<never> => {
      throw new Error('refused');
    };
    for (let times = 0; times < 3; times += 1)
      await expect(budget.run({ bytes: 10, start }, NEVER)).rejects.toThrow('refused');
    const run = budget.run({ bytes: 10, start: async () => 'began' }, NEVER);
    expect(await run).toBe('began');
  });

  test('runs alone when it is larger than all of it', async () => {
    const { begun, run, end } = createWork();
    void run('small', 1);
    void run('large', 50);
    void run('next', 1);
    expect(begun).toEqual(['small']);
    await end('small');
    expect(begun).toEqual(['small', 'large']);
    await end('large');
    expect(begun).toEqual(['small', 'large', 'next']);
  });

  test('gives its bytes back when it fails, and never begins after its signal', async () => {
    const { begun, run, ends, turn } = createWork();
    const failing = run('failing', 10);
    const left = new AbortController();
    void run('left', 10, left.signal);
    void run('last', 10);
    left.abort();
    ends.get('failing')?.reject(new Error('no'));
    await expect(failing).rejects.toThrow('no');
    await turn();
    expect(begun).toEqual(['failing', 'last']);
  });
});
