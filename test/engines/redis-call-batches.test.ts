/** Calls that travel to Redis together: joined, shared until they are sent, each with its own result. */
import { describe, expect, test } from 'vitest';
import { createCallBatches } from '../../server/engines/redis/reads/call-batches.ts';

type Sent = PromiseWithResolvers<readonly string[]> & { readonly args: readonly string[] };

const yieldTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function createCalls() {
  const sent: Sent[] = [];
  const calls = createCallBatches<string>((args) => {
    const one = { ...Promise.withResolvers<readonly string[]>(), args };
    sent.push(one);
    return one.promise;
  });
  return { sent, calls };
}

describe('calls of one tick', () => {
  test('are sent as one, equal ones once, and each gets its result', async () => {
    const { sent, calls } = createCalls();
    const all = Promise.all([calls.run(['a', '1']), calls.run(['b', '2']), calls.run(['a', '1'])]);
    expect(sent).toEqual([]);
    await yieldTurn();
    expect(sent.map(({ args }) => args)).toEqual([['a', '1', 'b', '2']]);
    sent[0]?.resolve(['for a', 'for b']);
    expect(await all).toEqual(['for a', 'for b', 'for a']);
  });

  test('are not shared with a call that was sent before them', async () => {
    const { sent, calls } = createCalls();
    const before = calls.run(['a']);
    await yieldTurn();
    const after = calls.run(['a']);
    await yieldTurn();
    sent[1]?.resolve(['new']);
    sent[0]?.resolve(['old']);
    expect(await Promise.all([before, after])).toEqual(['old', 'new']);
  });

  test('wait while two are under way, and go on after one that failed', async () => {
    const { sent, calls } = createCalls();
    const failed = calls.run(['a']).catch((error: unknown) => error);
    await yieldTurn();
    const second = calls.run(['b']);
    await yieldTurn();
    const waiting = [calls.run(['c']), calls.run(['d'])];
    await yieldTurn();
    expect(sent).toHaveLength(2);
    const lost = new Error('lost');
    sent[0]?.reject(lost);
    expect(await failed).toBe(lost);
    await yieldTurn();
    await yieldTurn();
    expect(sent.map(({ args }) => args)).toEqual([['a'], ['b'], ['c', 'd']]);
    sent[1]?.resolve(['for b']);
    sent[2]?.resolve(['for c', 'for d']);
    expect(await Promise.all([second, ...waiting])).toEqual(['for b', 'for c', 'for d']);
  });

  test('are no more in one script than its reply has room for', async () => {
    const { sent, calls } = createCalls();
    for (let n = 0; n < 70; n += 1) void calls.run([`${n}`]);
    await yieldTurn();
    expect(sent.map(({ args }) => args.length)).toEqual([64, 6]);
  });
});
