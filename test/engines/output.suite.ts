/** A task's output: who may append, and what is numbered how. */
import { describe, expect, test } from 'vitest';
import { append, begin, changeOutput, readPieces, textOf } from './output-calls.ts';
import {
  buildInput,
  buildState,
  endingOf,
  must,
  readState,
  settle,
  submissionOf,
  submit,
  writeTask,
} from './store-under-test.ts';
import type { SuiteContext } from './suite-context.ts';

const A = textOf('a');
const B = textOf('b');
const C = textOf('c');

export function describeOutput({ store, reopen }: SuiteContext): void {
  describe('output is appended', () => {
    test('by its writer, numbered from 1 over the whole task, and read in pages behind any number', async () => {
      await submit(store(), 't1');
      expect(await begin(store(), 't1', 'w', [A])).toEqual({ next: 1, last: 1, isFull: false });
      expect(await append(store(), 't1', 'w', 1, [B, C])).toEqual({
        ok: true,
        next: 3,
        last: 3,
        isFull: false,
      });
      expect(await append(store(), 't1', 'w', 3, [A])).toEqual({ ok: true, next: 4, last: 4, isFull: false });
      for (const isReopened of [false, true]) {
        if (isReopened) await reopen();
        const { revision } = await readState(store(), 't1');
        const all = [A, B, C, A].map((json, index) => ({ n: index + 1, json }));
        for (const [after, limit] of [0, 1, 2, 3, 4, 5, 1_000].flatMap(
          (n) =>
            [
              [n, 1],
              [n, 2],
              [n, 9],
            ] as const,
        )) {
          const pieces = all.slice(after, after + limit);
          expect(await store().readOutput('t1', after, limit)).toEqual({
            pieces,
            last: 4,
            missing: null,
            revision,
          });
        }
      }
    });

    test('with any JSON text, byte for byte', async () => {
      await submit(store(), 't1');
      const pieces = [
        '{"data":-0.0}',
        '{"data":1e400}',
        '{"data":{"a":1,"a":2}}',
        textOf('\u001e\u0000\n"你好\ud800'),
        '{\n"text" : "x"}',
      ];
      await begin(store(), 't1', 'w', pieces);
      await append(store(), 't1', 'w', 5, pieces);
      expect(await readPieces(store(), 't1')).toEqual(
        [...pieces, ...pieces].map((json, index) => `${index + 1}:${json}`),
      );
    });

    test('once: pieces that the writer has stored are skipped, in whole or in part', async () => {
      await submit(store(), 't1');
      await begin(store(), 't1', 'w', [A]);
      await append(store(), 't1', 'w', 1, [B, C]);
      const stored = { ok: true, next: 3, last: 3, isFull: false };
      expect(await append(store(), 't1', 'w', 1, [B, C])).toEqual(stored);
      expect(await append(store(), 't1', 'w', 0, [A])).toEqual(stored);
      expect(await append(store(), 't1', 'w', 3, [])).toEqual(stored);
      expect(await append(store(), 't1', 'w', 1, [B, C, A])).toEqual({ ...stored, next: 4, last: 4 });
      expect(await readPieces(store(), 't1')).toEqual([`1:${A}`, `2:${B}`, `3:${C}`, `4:${A}`]);
    });

    test('with no hole: what begins behind the stored pieces is a conflict that says where to go on', async () => {
      await submit(store(), 't1');
      await begin(store(), 't1', 'w', [A]);
      expect(await append(store(), 't1', 'w', 2, [B])).toEqual({ ok: false, conflict: 'gap', next: 1 });
      expect(await readPieces(store(), 't1')).toEqual([`1:${A}`]);
    });

    test('by no other, and not before a writer has begun', async () => {
      await submit(store(), 't1');
      const conflict = { ok: false, conflict: 'writer' };
      expect(await append(store(), 't1', 'w', 0, [A])).toEqual(conflict);
      await begin(store(), 't1', 'w', [A]);
      expect(await append(store(), 't1', 'v', 0, [B])).toEqual(conflict);
      expect(await append(store(), 't1', 'v', 7, [B])).toEqual(conflict);
      expect(await readPieces(store(), 't1')).toEqual([`1:${A}`]);
    });

    test('while the task is open alone, and of no unknown task', async () => {
      await submit(store(), 't1');
      await begin(store(), 't1', 'w', [A]);
      await settle(store(), 't1');
      const conflict = { ok: false, conflict: 'settled' };
      expect(await append(store(), 't1', 'w', 1, [B])).toEqual(conflict);
      expect(await append(store(), 'unknown', 'w', 0, [B])).toEqual(conflict);
      expect(await readPieces(store(), 't1')).toEqual([`1:${A}`]);
    });

    test('by calls at once, each whole: equal ones are stored once', async () => {
      await submit(store(), 't1');
      await begin(store(), 't1', 'w');
      const results = await Promise.all([0, 0, 0].map(() => append(store(), 't1', 'w', 0, [A, B])));
      expect(results).toEqual(results.map(() => ({ ok: true, next: 2, last: 2, isFull: false })));
      expect(await readPieces(store(), 't1')).toEqual([`1:${A}`, `2:${B}`]);
    });

    test('to many tasks at once', async () => {
      const ids = Array.from({ length: 40 }, (_, index) => `t${index}`);
      await Promise.all(ids.map((id) => submit(store(), id)));
      await Promise.all(ids.map((id) => begin(store(), id, `w ${id}`, [A])));
      for (let from = 1; from < 6; from += 1)
        await Promise.all(ids.map((id) => append(store(), id, `w ${id}`, from, [textOf(id)])));
      for (const id of ids)
        expect((await readPieces(store(), id)).slice(1)).toEqual(
          [2, 3, 4, 5, 6].map((n) => `${n}:${textOf(id)}`),
        );
    });
  });

  describe('another writer', () => {
    test('begins at its piece 0, behind a reset; the one before is out, also after a restart', async () => {
      await submit(store(), 't1');
      await begin(store(), 't1', 'w', [A, B]);
      expect(await begin(store(), 't1', 'v', [C])).toEqual({ next: 1, last: 4, isFull: false });
      await reopen();
      expect(await append(store(), 't1', 'w', 2, [A])).toEqual({ ok: false, conflict: 'writer' });
      expect(await append(store(), 't1', 'v', 1, [A])).toEqual({ ok: true, next: 2, last: 5, isFull: false });
      expect(await readPieces(store(), 't1', 2)).toEqual(['3:{"reset":true}', `4:${C}`, `5:${A}`]);
    });

    test('begins without a reset where there are no pieces, and may begin without any', async () => {
      await submit(store(), 't1');
      expect(await begin(store(), 't1', 'w')).toEqual({ next: 0, last: 0, isFull: false });
      expect(await begin(store(), 't1', 'v')).toEqual({ next: 0, last: 0, isFull: false });
      await reopen();
      expect(await append(store(), 't1', 'v', 0, [A])).toEqual({ ok: true, next: 1, last: 1, isFull: false });
      expect(await readPieces(store(), 't1')).toEqual([`1:${A}`]);
    });

    test('is never the present one: its first call, made twice, begins once', async () => {
      await submit(store(), 't1');
      await begin(store(), 't1', 'w', [A, B]);
      expect(await begin(store(), 't1', 'w', [A, B, C])).toEqual({ next: 3, last: 3, isFull: false });
      await reopen();
      expect(await begin(store(), 't1', 'w', [A])).toEqual({ next: 3, last: 3, isFull: false });
      expect(await readPieces(store(), 't1')).toEqual([`1:${A}`, `2:${B}`, `3:${C}`]);
    });

    test('does not begin again once it was replaced, while one writes: the last ten are known, also after a restart', async () => {
      await submit(store(), 't1');
      const late = (writer: string) =>
        changeOutput(store(), 't1', {
          begins: { writer, reset: '{"reset":true}' },
          append: { pieces: [A], by: { writer, from: 0 } },
        });
      const replaced = { ok: false, conflict: 'replaced' };
      const writers = Array.from({ length: 12 }, (_, index) => `w${index}`);
      for (const writer of writers) await begin(store(), 't1', writer, [B]);
      const before = await readPieces(store(), 't1');
      for (const isReopened of [false, true]) {
        if (isReopened) await reopen();
        for (const writer of writers.slice(1, 11)) expect(await late(writer)).toEqual(replaced);
        expect(await readPieces(store(), 't1')).toEqual(before);
      }
      expect(await append(store(), 't1', 'w11', 1, [C])).toMatchObject({ ok: true, next: 2 });
      for (const writer of ['w0', 'w1']) expect(await late(writer)).toMatchObject({ output: { next: 1 } });
      expect(await late('w11')).toEqual(replaced);
      // Where none writes, its agent has the task again.
      await changeOutput(store(), 't1', { begins: { writer: null } });
      expect(await late('w11')).toMatchObject({ output: { next: 1 } });
      expect(await late('w1')).toEqual(replaced);
    });

    test('that is null stops the present one, also after a restart; without output nothing changes', async () => {
      for (const id of ['t1', 't2']) await submit(store(), id);
      await begin(store(), 't1', 'w', [A]);
      const noWriter = { begins: { writer: null } };
      expect(await changeOutput(store(), 't1', noWriter)).toMatchObject({ output: { next: 0, last: 1 } });
      expect(await changeOutput(store(), 't2', noWriter)).toMatchObject({ output: { next: 0, last: 0 } });
      const input = buildInput('t3');
      must(
        await store().commit(
          submissionOf(input, buildState(store()), { output: { request_id: 't3', ...noWriter } }),
        ),
      );
      await reopen();
      for (const id of ['t1', 't2', 't3'])
        expect(await append(store(), id, 'w', 1, [B])).toEqual({ ok: false, conflict: 'writer' });
      expect(await begin(store(), 't1', 'v', [B])).toEqual({ next: 1, last: 3, isFull: false });
      expect(await readPieces(store(), 't1')).toEqual([`1:${A}`, '2:{"reset":true}', `3:${B}`]);
    });
  });

  describe('a commit with output', () => {
    test('is all or nothing: a conflict of either part leaves both', async () => {
      await submit(store(), 't1');
      await begin(store(), 't1', 'w', [A]);
      const before = await readState(store(), 't1');
      const next = buildState(store(), { progress: 50 });
      const output = (from: number, writer = 'w') => ({
        request_id: 't1',
        append: { pieces: [B], by: { writer, from } },
      });
      const stale = { value: before.value, revision: 'never issued' };
      expect(await store().commit(writeTask('t1', before, next, { output: output(2) }))).toEqual({
        ok: false,
        conflict: 'gap',
        next: 1,
      });
      expect(await store().commit(writeTask('t1', before, next, { output: output(1, 'v') }))).toEqual({
        ok: false,
        conflict: 'writer',
      });
      expect(await store().commit(writeTask('t1', stale, next, { output: output(1) }))).toEqual({
        ok: false,
        conflict: 'revision',
      });
      expect(await readState(store(), 't1')).toEqual(before);
      expect(await readPieces(store(), 't1')).toEqual([`1:${A}`]);
      expect(await store().commit(writeTask('t1', before, next, { output: output(1) }))).toMatchObject({
        ok: true,
        output: { next: 2, last: 2, isFull: false },
      });
      expect((await readState(store(), 't1')).value.progress).toBe(50);
    });

    test('adds pieces of the gateway’s own, which no writer counts, also in the one that settles', async () => {
      await submit(store(), 't1');
      await begin(store(), 't1', 'w', [A]);
      expect(await changeOutput(store(), 't1', { append: { pieces: [C] } })).toMatchObject({
        output: { next: 1, last: 2 },
      });
      expect(await append(store(), 't1', 'w', 1, [B])).toEqual({ ok: true, next: 2, last: 3, isFull: false });
      must(
        await store().commit(
          await endingOf(store(), 't1', { output: { request_id: 't1', append: { pieces: [C] } } }),
        ),
      );
      await submit(store(), 't2');
      must(
        await store().commit(
          await endingOf(store(), 't2', { output: { request_id: 't2', append: { pieces: [C] } } }),
        ),
      );
      for (const isReopened of [false, true]) {
        if (isReopened) await reopen();
        expect(await readPieces(store(), 't1')).toEqual([`1:${A}`, `2:${C}`, `3:${B}`, `4:${C}`]);
        expect(await readPieces(store(), 't2')).toEqual([`1:${C}`]);
      }
    });

    test('without output returns none', async () => {
      await submit(store(), 't1');
      expect(await store().commit(await endingOf(store(), 't1'))).not.toHaveProperty('output');
    });
  });
}
