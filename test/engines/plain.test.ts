/** The plain store keeps the store port's promises, but for those about a disk. */
import { describe, expect, test } from 'vitest';
import { JsonText, writeJson } from '../../server/domain/json-text.ts';
import { StoreUnavailable } from '../../server/ports/store.ts';
import { describeStore } from './conformance.ts';
import { createPlainStoreUnderTest } from './plain-under-test.ts';
import { createMemorySubject } from './sqlite-under-test.ts';
import {
  buildInput,
  buildState,
  endingOf,
  must,
  NEVER,
  readState,
  submissionOf,
  writeTask,
} from './store-under-test.ts';

describeStore('the plain store', createPlainStoreUnderTest, { hasDisk: false });

const LONG = '好"\\n'.repeat(1_000);

describe('what the plain store reads', () => {
  test.each([
    ['a short payload', { text: 'x' }],
    ['a long payload as its text', new JsonText(JSON.stringify({ text: LONG, 'a,"cli_session_id":': 1 }))],
    ['a payload that looks like such a text', { text: JSON.stringify({ text: LONG }), toJSON: LONG }],
    ['a payload with the names of fields', { payload: { cli_session_id: LONG }, result: {}, __proto__x: 1 }],
  ])('is written as what the SQLite engine reads: %s', async (_what, payload) => {
    const texts: string[] = [];
    for (const create of [createPlainStoreUnderTest, createMemorySubject]) {
      const underTest = await create();
      const store = await underTest.open();
      must(await store.commit(submissionOf(buildInput('t1', { payload }), buildState(store))));
      const before = await readState(store, 't1');
      const settled = { ...(await endingOf(store, 't1')).writes[0]?.value, result: payload };
      must(await store.commit(writeTask('t1', before, settled as typeof before.value)));
      const input = await store.get('input', 't1');
      texts.push(writeJson(input?.value ?? {}) + writeJson((await readState(store, 't1')).value));
      await underTest.dispose();
    }
    expect(texts[0]).toContain(writeJson({ payload }).slice(1, -1));
    expect(texts[0]).toBe(texts[1]);
  });
});

test('A plain store that is closed ends its feeds and watchers, and every other call throws.', async () => {
  const underTest = await createPlainStoreUnderTest();
  const store = await underTest.open();
  const watching = (async () => {
    for await (const _notification of store.watch('due', NEVER));
  })();
  const reading = (async () => {
    for await (const _item of store.feed('s', null, NEVER));
  })();
  await store.close();
  await Promise.all([watching, reading, store.close()]);
  await expect(store.get('task', 't1')).rejects.toThrow(StoreUnavailable);
  await expect(store.commit({ writes: [] })).rejects.toThrow(StoreUnavailable);
  await expect(store.takeDue(1)).rejects.toThrow(StoreUnavailable);
  expect(store.health()).toMatchObject({ ok: false });
});
