/** Permits to push: what one agent and one origin may take, and in which order those that wait get theirs. */
import { describe, expect, test } from 'vitest';
import { createPushPermits, type PushPermits } from '../../server/gateway/pushing/push-permits.ts';
import { flushMicrotasks } from '../harness/fake-clock.ts';

const NEVER = new AbortController().signal;

/**
 * Takes permits and records who got one, in order; `end` ends the first permit of an agent that is not over.
 */
function record(permits: PushPermits) {
  const started: string[] = [];
  const running: { readonly agent_id: string; readonly end: () => void }[] = [];
  return {
    started,
    take(agent_id: string, origin: string, size = 1, signal = NEVER) {
      void permits.take({ agent_id, origin, size }, signal).then((end) => {
        if (end === null) return;
        started.push(agent_id);
        running.push({ agent_id, end });
      });
    },
    async end(agent_id: string) {
      const at = running.findIndex((one) => one.agent_id === agent_id);
      const [one] = running.splice(at, 1);
      one?.end();
      // Returning a permit again has no effect.
      one?.end();
      await flushMicrotasks();
    },
  };
}

const count = (names: readonly string[], name: string): number => names.filter((one) => one === name).length;

describe('of 16 permits', () => {
  test('an agent takes two and an origin four, and the rest is left to others', async () => {
    const permits = createPushPermits(16);
    const { take, started } = record(permits);
    for (const agent of ['a', 'b', 'c']) for (let n = 0; n < 10; n += 1) take(agent, 'one.test');
    await flushMicrotasks();
    expect([...started].sort()).toEqual(['a', 'a', 'b', 'b']);
    const more = { agent_id: 'd', origin: 'one.test', size: 1 };
    expect(permits.takeAtOnce(more)).toBeNull();
    expect(permits.takeAtOnce({ ...more, origin: 'two.test' })).not.toBeNull();
    take('e', 'two.test');
    await flushMicrotasks();
    expect(started.at(-1)).toBe('e');
  });

  test('those that wait get theirs by origin and agent in rotation, however many one of them has', async () => {
    const { take, end, started } = record(createPushPermits(16));
    const origins = ['1', '2', '3', '4', '5', '6'];
    for (const origin of origins)
      for (let n = 0; n < 50; n += 1) for (const agent of ['a', 'b']) take(agent + origin, origin);
    await flushMicrotasks();
    expect(started).toHaveLength(16);
    take('late', 'late.test');
    for (let n = 0; n < 8; n += 1) await end(started[n] ?? '');
    expect(started.slice(16)).toContain('late');
    for (let n = 8; n < 200; n += 1) await end(started[n] ?? '');
    const counts = origins.map((origin) => count(started, `a${origin}`) + count(started, `b${origin}`));
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(8);
  });

  test('one that is larger than a share gets a permit, and then its agent none', async () => {
    const { take, end, started } = record(createPushPermits(16));
    take('a', 'one.test', 100);
    take('a', 'one.test');
    take('b', 'two.test');
    await flushMicrotasks();
    expect(started).toEqual(['a']);
    await end('a');
    expect(started).toEqual(['a', 'a', 'b']);
  });

  test('one is not forgotten when another agent of its origin has got its last one', async () => {
    const { take, end, started } = record(createPushPermits(4));
    take('first', 'one.test');
    take('a', 'one.test');
    take('b', 'one.test');
    await flushMicrotasks();
    for (const agent of ['first', 'a']) await end(agent);
    expect(started).toEqual(['first', 'a', 'b']);
  });

  test('one that stops waiting is passed over', async () => {
    const { take, end, started } = record(createPushPermits(8));
    const stop = new AbortController();
    take('a', 'one.test');
    take('a', 'one.test', 1, stop.signal);
    take('a', 'one.test');
    await flushMicrotasks();
    stop.abort();
    await end('a');
    expect(started).toEqual(['a', 'a']);
    expect(await createPushPermits(8).take({ agent_id: 'a', origin: 'o', size: 1 }, stop.signal)).toBeNull();
  });
});
