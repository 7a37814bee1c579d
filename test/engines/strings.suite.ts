/**
 * Any well-formed string can be an id, a session, an agent, a tag or a key, and different strings stay
 * different.
 */
import { describe, expect, test } from 'vitest';
import {
  agentRef,
  assign,
  cursorsOf,
  finish,
  idsOf,
  must,
  readFeed,
  readState,
  register,
  settle,
  submit,
} from './store-under-test.ts';
import type { SuiteContext } from './suite-context.ts';

/** Strings that look alike, look like parts of keys, or have a meaning in JavaScript, SQL or Redis. */
const STRINGS: readonly string[] = [
  'plain',
  'a/b',
  'a%002fb',
  'a%2fb',
  'a',
  'a/',
  '/a',
  'a//b',
  '%',
  '%%',
  '..',
  '__proto__',
  'constructor',
  'a b',
  ' a',
  'a ',
  'A',
  'a\u0000',
  'a\u0000b',
  '\u0000',
  'a\nb',
  "a'b",
  'a"b',
  'a:b',
  'a*b',
  'a[b',
  '{a}',
  '!',
  '0',
  '9',
  '~',
  'é',
  'e\u0301',
  '你好',
  '😀',
  '\u{10ffff}',
  '\ufeffa',
  '😀'.repeat(256),
  'x'.repeat(256),
];

export function describeStrings({ store, reopen, underTest }: SuiteContext): void {
  describe('unusual strings', () => {
    test('work as ids of tasks', async () => {
      for (const [index, id] of STRINGS.entries()) await submit(store(), id, { progress: index });
      for (const id of STRINGS.slice(0, 20)) await settle(store(), id);
      for (const isReopened of [false, true]) {
        if (isReopened) await reopen();
        for (const [index, id] of STRINGS.entries()) {
          expect((await readState(store(), id)).value.progress, JSON.stringify(id)).toBe(index);
          expect((await store().get('input', id))?.value.request_id).toBe(id);
        }
        const { items } = await store().list('tasks', {}, { limit: 100 });
        expect(items.map(({ request_id }) => request_id).sort()).toEqual([...STRINGS].sort());
      }
      await underTest().advance(1);
      const taken = (await store().takeDue(100)).map(({ ref }) => ref.slice('task:'.length));
      expect(taken.sort()).toEqual([...STRINGS.slice(20)].sort());
    });

    test('work as sessions', async () => {
      for (const [index, session] of STRINGS.entries()) {
        await finish(store(), `first-${index}`, session);
        await finish(store(), `second-${index}`, session);
      }
      await reopen();
      for (const [index, session] of STRINGS.entries()) {
        const items = await readFeed(store(), session, null, 2);
        expect(idsOf(items), JSON.stringify(session)).toEqual([`first-${index}`, `second-${index}`]);
        const [first = ''] = cursorsOf(items);
        expect(idsOf(await readFeed(store(), session, first, 1))).toEqual([`second-${index}`]);
        const listed = await store().list('tasks', { session }, { limit: 10 });
        expect(listed.items).toHaveLength(2);
      }
      await underTest().advance(10_000);
      while (
        (await store().trim({ keepTasksMs: 10_000, sessionEventsMax: 10, outputBytesMax: 2 ** 28 }, 50)) > 0
      );
      for (const session of STRINGS) {
        expect(idsOf(await readFeed(store(), session, null, 1))).toEqual(['gap']);
        expect((await store().list('tasks', { session }, { limit: 10 })).items).toEqual([]);
      }
    });

    test('work as ids of agents and as tags', async () => {
      for (const name of STRINGS) await register(store(), name, { agent_tags: [`tag ${name}`, name] });
      for (const [index, name] of STRINGS.entries()) {
        await submit(store(), `t${index}`, { task_tags: [name] });
        expect(await store().commit({ writes: [], noneFree: [name] })).toMatchObject({ agent_id: name });
        must(await assign(store(), `t${index}`, name));
        must(await store().commit({ writes: [], noneFree: [name] }));
      }
      await reopen();
      for (const [index, name] of STRINGS.entries()) {
        expect((await store().getAgentStatus(name))?.slots).toBe(1);
        expect((await store().list('slots', { agent_id: name }, { limit: 5 })).items).toEqual([
          { request_id: `t${index}` },
        ]);
        expect((await store().list('tasks', { agent_id: name }, { limit: 5 })).items).toHaveLength(1);
      }
      const { changed } = await store().readAgentChanges(null);
      expect(changed.map(({ record }) => record.agent_id).sort()).toEqual([...STRINGS].sort());
      await underTest().advance(1);
      const refs = (await store().takeDue(200)).map(({ ref }) => ref);
      for (const ref of refs.filter((candidate) => candidate.startsWith('agent:'))) {
        expect(STRINGS.map(agentRef)).toContain(ref);
      }
    });

    test('work as idempotency keys', async () => {
      for (const [index, id] of STRINGS.entries()) {
        const value = { request_id: `t${index}`, fingerprint: id, create_time: index };
        must(
          await store().commit({ writes: [{ kind: 'key', id, expect: 'absent', value, keepMs: 60_000 }] }),
        );
      }
      await reopen();
      for (const [index, id] of STRINGS.entries()) {
        expect((await store().get('key', id))?.value).toMatchObject({
          request_id: `t${index}`,
          fingerprint: id,
        });
      }
    });
  });
}
