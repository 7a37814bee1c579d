/** Filters as tokens: the address, what is typed, the query they make. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  addToken,
  buildTaskQuery,
  findFault,
  readSince,
  readTokens,
  readTyped,
  readValue,
  removeToken,
  TASK_KEYS,
  type Token,
  writeTokens,
} from '../../server/console/routing/filter.ts';
import { windowStartMs } from '../../server/domain/failures.ts';

const tokens = (...pairs: readonly (readonly [string, string])[]): readonly Token[] =>
  pairs.map(([key, value]) => ({ key, value }));

describe('the address', () => {
  test('keeps the order, commas of lists and everything else encoded', () => {
    const filter = tokens(['session', 'nightly-构建-🌙'], ['status', 'pending,failed'], ['tag', 'a,b&c=d #']);
    const search = writeTokens(filter, TASK_KEYS);
    expect(search).toBe(
      `?session=${encodeURIComponent('nightly-构建-🌙')}&status=pending,failed&tag=a%2Cb%26c%3Dd%20%23`,
    );
    expect(readTokens(search, TASK_KEYS)).toEqual(filter);
  });

  test('may hold a cursor, and may be empty', () => {
    expect(writeTokens(tokens(['tag', 'a']), TASK_KEYS, 'x/y')).toBe('?tag=a&cursor=x%2Fy');
    expect(writeTokens([], TASK_KEYS)).toBe('');
  });

  test('what is not a filter of the page, empty or there before is left out', () => {
    expect(readTokens('?theme=dark&tag=&type=x&type=y&cursor=1', TASK_KEYS)).toEqual(tokens(['type', 'x']));
  });

  test('of any values is read as it was written', () => {
    const value = fc.string({ minLength: 1, unit: 'grapheme' });
    const key = fc.constantFrom('tag', 'type', 'session', 'agent');
    fc.assert(
      fc.property(fc.uniqueArray(fc.tuple(key, value), { selector: ([one]) => one }), (pairs) => {
        const filter = tokens(...pairs);
        expect(readTokens(writeTokens(filter, TASK_KEYS), TASK_KEYS)).toEqual(filter);
      }),
    );
  });
});

describe('what is typed', () => {
  test.each([
    ['tag=gpu', 'tag', 'gpu'],
    [' tag=a=b ', 'tag', 'a=b'],
    ['status=pending,failed', 'status', 'pending,failed'],
    ['since=15m', 'since', '15m'],
    ['ended=15m', 'ended', '15m'],
    ['6e1fcc2f', 'id', '6e1fcc2f'],
    ['…6E1FCC2F', 'id', '6e1fcc2f'],
    ['01a2009a-2218-7a08-a6cb-6eb8683f4e13', 'id', '01a2009a-2218-7a08-a6cb-6eb8683f4e13'],
    ['nightly', 'session', 'nightly'],
    ['cafe', 'session', 'cafe'],
    ['color=red', 'session', 'color=red'],
  ])('%j is %s=%s', (text, key, value) => {
    expect(readTyped(text, TASK_KEYS)).toEqual({ kind: 'token', token: { key, value } });
  });

  test.each([
    ['tag=', 'Write a value behind tag=.'],
    ['status=done', 'status= is any of pending, running, success, failed; it has no “done”.'],
    [
      'outcome=lost',
      'outcome= is any of success, failed, cancelled, timeout, no_agent, agent_lost; it has no “lost”.',
    ],
    ['status=waiting', 'Write waiting=true or waiting=false.'],
    ['waiting=maybe', 'waiting= is true or false.'],
    ['waiting_for_answer=yes', 'waiting_for_answer= is true or false.'],
    ['since=yesterday', 'since= is a time such as 15m, 1h or 2d.'],
    ['ended=yesterday', 'ended= is a time such as 15m, 1h or 2d.'],
    ['id=abc', 'An id is found whole, or by its last 8 characters or more.'],
  ])('%j: %s', (text, fault) => {
    expect(readTyped(text, TASK_KEYS)).toEqual({ kind: 'fault', text: fault });
  });

  test('blanks are nothing', () => {
    expect(readTyped('  ', TASK_KEYS)).toEqual({ kind: 'nothing' });
  });

  test('on a page without sessions, bare text is its id', () => {
    const keys = { all: ['tag', 'id'], lists: [] };
    expect(readTyped('gpu-node-a', keys)).toEqual({
      kind: 'token',
      token: { key: 'id', value: 'gpu-node-a' },
    });
  });

  test('what an address has that can’t be asked is named', () => {
    expect(findFault(tokens(['tag', 'a'], ['status', 'done']), TASK_KEYS)).toMatch(/^status=/);
    expect(findFault(tokens(['tag', 'a']), TASK_KEYS)).toBeNull();
  });
});

describe('changes', () => {
  const filter = tokens(['tag', 'a'], ['type', 'x']);

  test('a key has one token', () => {
    expect(addToken(filter, { key: 'tag', value: 'b' })).toEqual(tokens(['tag', 'b'], ['type', 'x']));
    expect(addToken(filter, { key: 'id', value: '12345678' })).toHaveLength(3);
    expect(removeToken(filter, 'tag')).toEqual(tokens(['type', 'x']));
    expect(readValue(filter, 'type')).toBe('x');
    expect(readValue(filter, 'id')).toBeNull();
  });
});

describe('the query', () => {
  test('has lists as lists and a time instead of since', () => {
    const filter = tokens(
      ['status', 'pending,failed'],
      ['outcome', 'no_agent'],
      ['tag', 'a,b'],
      ['since', '1h'],
    );
    expect(buildTaskQuery(filter, 10_000)).toEqual({
      status: ['pending', 'failed'],
      outcome: ['no_agent'],
      tag: 'a,b',
      created_after: 6_360,
    });
  });

  test('has the window of the overview as what ended in 15 minutes', () => {
    const nowMs = 1_763_611_420_500;
    const { ended_after, error } = buildTaskQuery(tokens(['ended', '15m'], ['error', 'a, b']), nowMs / 1_000);
    expect([ended_after, error]).toEqual([windowStartMs(nowMs) / 1_000, 'a, b']);
  });

  test.each([true, false])('asks for tasks that wait: %s', (waiting) => {
    expect(buildTaskQuery(tokens(['waiting', String(waiting)]), 0)).toEqual({ waiting });
    const forAnswer = tokens(['waiting_for_answer', String(waiting)]);
    expect(buildTaskQuery(forAnswer, 0)).toEqual({ waiting_for_answer: waiting });
  });

  test('is the same for reads that follow each other', () => {
    const filter = tokens(['since', '1h']);
    const of = (now: number) => buildTaskQuery(filter, now).created_after;
    expect(of(10_022)).toBe(of(10_020));
    expect(of(10_020 + 60)).toBe((of(10_020) ?? 0) + 60);
  });

  test.each([
    ['30s', 30],
    ['15m', 900],
    ['2d', 172_800],
    ['1w', null],
    ['', null],
  ])('since=%s is %j seconds', (text, seconds) => {
    expect(readSince(text)).toBe(seconds);
  });
});
