/** The groups in which commits travel to Redis: what they hold, and what each commit resolves with. */
import { describe, expect, test } from 'vitest';
import type { Reply } from '../../server/engines/redis/client/client.ts';
import type { EncodedCommit } from '../../server/engines/redis/commit/commit-arguments.ts';
import { createCommitGroups } from '../../server/engines/redis/commit/commit-groups.ts';
import { type Script, scripts } from '../../server/engines/redis/scripts.ts';
import { StoreRefused, StoreUnavailable } from '../../server/ports/store.ts';
import { createFakeClock } from '../harness/fake-clock.ts';
import { follow } from './store-under-test.ts';

type Sent = PromiseWithResolvers<Reply> & { readonly script: Script; readonly names: readonly string[] };

const yieldTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Groups whose scripts the test replies to. */
function createGroups(outputEveryMs = 0) {
  const clock = createFakeClock();
  const sent: Sent[] = [];
  const applied: [readonly string[], number | undefined][] = [];
  const groups = createCommitGroups(
    {
      clock,
      outputEveryMs,
      processName: 'p',
      channel: 'c',
      ownChannel: 'c/p',
      onApplied: (topics, dueMs) => void applied.push([[...topics], dueMs]),
      noteDamage() {},
    },
    (script, args) => {
      const one = { ...Promise.withResolvers<Reply>(), script, names: args.slice(3) };
      sent.push(one);
      return one.promise;
    },
  );
  return { clock, groups, sent, applied };
}

function buildCommit(name: string, more: Partial<EncodedCommit> = {}): EncodedCommit {
  return {
    args: [name],
    size: name.length,
    isAdmission: false,
    hasOutput: false,
    isOutputAlone: false,
    topics: [`task:${name}`],
    ...more,
  };
}

const namesOf = (sent: readonly Sent[]): readonly (readonly string[])[] => sent.map(({ names }) => names);

describe('commits on Redis', () => {
  test('beyond what may wait are refused by a rejection', async () => {
    const { groups } = createGroups();
    const large = 40 * 2 ** 20;
    void groups.run(buildCommit('a', { size: large }));
    await expect(groups.run(buildCommit('b', { size: large }))).rejects.toThrow(StoreRefused);
  });

  test('of one tick are one script, each with its own result; listeners are notified of the applied ones', async () => {
    const { groups, sent, applied } = createGroups();
    const results = Promise.all(['a', 'b', 'c'].map((name) => groups.run(buildCommit(name))));
    await yieldTurn();
    expect(namesOf(sent)).toEqual([['a', 'b', 'c']]);
    expect(sent[0]?.script).toBe(scripts.commit);
    sent[0]?.resolve(['70', 'ok', 'revision', 'ok']);
    expect(await results).toEqual(['ok', 'revision', 'ok']);
    expect(applied).toEqual([[['task:a', 'task:c'], 70]]);
  });

  test('are at most two scripts under way, and those that wait are the next one', async () => {
    const { groups, sent } = createGroups();
    const all: Promise<string>[] = [];
    for (const name of ['a', 'b', 'c', 'd']) {
      all.push(groups.run(buildCommit(name)));
      await yieldTurn();
    }
    expect(namesOf(sent)).toEqual([['a'], ['b']]);
    sent[0]?.resolve(['', 'ok']);
    await all[0];
    await yieldTurn();
    await yieldTurn();
    expect(namesOf(sent)).toEqual([['a'], ['b'], ['c', 'd']]);
    sent[1]?.resolve(['', 'ok']);
    sent[2]?.resolve(['', 'ok', 'slot']);
    expect(await Promise.all(all)).toEqual(['ok', 'ok', 'ok', 'slot']);
  });

  test('of output alone wait for more of it after a script; any other commit ends the wait', async () => {
    const { clock, groups, sent } = createGroups(10);
    const write = (name: string) => groups.run(buildCommit(name, { hasOutput: true, isOutputAlone: true }));
    const all = [write('a')];
    await yieldTurn();
    all.push(write('b'));
    await yieldTurn();
    await clock.advance(9);
    all.push(write('c'));
    await yieldTurn();
    expect(namesOf(sent)).toEqual([['a']]);
    await clock.advance(1);
    await yieldTurn();
    expect(namesOf(sent)).toEqual([['a'], ['b', 'c']]);
    sent[0]?.resolve(['', 'ok']);
    sent[1]?.resolve(['', 'ok', 'ok']);
    await Promise.all(all);
    all.push(write('d'));
    await yieldTurn();
    expect(sent).toHaveLength(2);
    all.push(groups.run(buildCommit('e')));
    await yieldTurn();
    expect(namesOf(sent)).toEqual([['a'], ['b', 'c'], ['d', 'e']]);
    sent[2]?.resolve(['', 'ok', 'ok']);
    expect(await Promise.all(all)).toEqual(['ok', 'ok', 'ok', 'ok', 'ok']);
  });

  test('are no more in one script than it has room for', async () => {
    const { groups, sent } = createGroups();
    for (let n = 0; n < 130; n += 1) void groups.run(buildCommit(`${n}`));
    await yieldTurn();
    expect(sent.map(({ names }) => names.length)).toEqual([128, 2]);
    const large = createGroups();
    for (const name of ['a', 'b', 'c', 'd']) void large.groups.run(buildCommit(name, { size: 100_000 }));
    await yieldTurn();
    expect(namesOf(large.sent)).toEqual([['a', 'b', 'c'], ['d']]);
  });

  test('that add nothing are applied although the memory of Redis is full', async () => {
    const { groups, sent } = createGroups();
    const adding = groups.run(buildCommit('adds', { isAdmission: true })).catch((error: unknown) => error);
    const ending = groups.run(buildCommit('ends'));
    await yieldTurn();
    expect(sent[0]?.script).toBe(scripts.admit);
    const full = new StoreUnavailable('its memory is full', { kind: 'full' });
    sent[0]?.reject(full);
    expect(await adding).toBe(full);
    expect(namesOf(sent)).toEqual([['adds', 'ends'], ['ends']]);
    expect(sent[1]?.script).toBe(scripts.commit);
    sent[1]?.resolve(['', 'ok']);
    expect(await ending).toBe('ok');
  });

  test('reject together with their script, and the next ones are sent', async () => {
    const { groups, sent } = createGroups();
    const failed = Promise.allSettled([groups.run(buildCommit('a')), groups.run(buildCommit('b'))]);
    await yieldTurn();
    const lost = new StoreUnavailable('lost');
    sent[0]?.reject(lost);
    expect((await failed).map((one) => 'reason' in one && one.reason)).toEqual([lost, lost]);
    const next = groups.run(buildCommit('c'));
    await yieldTurn();
    sent[1]?.resolve(['', 'ok']);
    expect(await next).toBe('ok');
  });

  test('that waited behind slow ones have no more time than others', async () => {
    const { clock, groups, sent } = createGroups();
    const all = ['a', 'b'].map((name) => groups.run(buildCommit(name)));
    await yieldTurn();
    all.push(groups.run(buildCommit('b2')));
    await yieldTurn();
    const behind = groups.run(buildCommit('c')).catch((error: unknown) => error);
    await clock.advance(3_000);
    sent[0]?.resolve(['', 'ok', 'ok']);
    sent[1]?.resolve(['', 'ok']);
    await Promise.all(all);
    await yieldTurn();
    const outcome = follow(behind);
    await clock.advance(1_499);
    expect(outcome.now()).toBe('waiting');
    await clock.advance(1);
    expect(await behind).toMatchObject({ name: 'StoreUnavailable' });
  });

  test('under way are waited for before the store closes', async () => {
    const { groups, sent } = createGroups();
    const one = groups.run(buildCommit('a'));
    const idle = follow(groups.whenIdle());
    await yieldTurn();
    expect(idle.now()).toBe('waiting');
    sent[0]?.resolve(['', 'ok']);
    expect(await one).toBe('ok');
    await yieldTurn();
    await yieldTurn();
    expect(idle.now()).not.toBe('waiting');
  });
});
