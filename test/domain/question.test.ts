/** Each keyword of a question's schema: the answers that it takes, and those that it refuses. */
import { expect, test } from 'vitest';
import { findRefused } from '../../server/domain/asking.ts';
import { type AnswerSchema, findAnswerErrors, findSchemaErrors } from '../../server/domain/question.ts';
import type { TaskState } from '../../server/domain/task.ts';

type Field = AnswerSchema['properties'][string];

const schemaOf = (field: Field, required: readonly string[] = []): AnswerSchema => ({
  type: 'object',
  properties: { 'a/b': field },
  required,
});

test.each<[string, Field, readonly unknown[], readonly unknown[]]>([
  ['string', { type: 'string' }, ['', '好'], [1, null, true, ['a'], {}]],
  ['number', { type: 'number' }, [0, -1.5, 1e300], ['1', null, true]],
  ['integer', { type: 'integer' }, [0, -3, 2 ** 53], [0.5, '1', true]],
  ['boolean', { type: 'boolean' }, [true, false], ['true', 0, null]],
  ['enum', { type: 'string', enum: ['a', 'b'] }, ['a', 'b'], ['', 'A', 'ab', 1]],
  ['minLength', { type: 'string', minLength: 2 }, ['ab', '😀😀'], ['', 'a', '😀']],
  ['maxLength', { type: 'string', maxLength: 2 }, ['', '😀😀'], ['abc', '😀😀😀']],
  ['minimum', { type: 'number', minimum: 0.5 }, [0.5, 1], [0.4, -1]],
  ['maximum', { type: 'integer', maximum: 9 }, [9, -9], [10]],
  ['title, description, default', { type: 'string', title: 't', description: 'd', default: 'x' }, ['y'], [1]],
])('%s', (_keyword, field, right, wrong) => {
  for (const value of right) expect(findAnswerErrors(schemaOf(field), { 'a/b': value })).toEqual([]);
  for (const value of wrong)
    expect(findAnswerErrors(schemaOf(field), { 'a/b': value })).toEqual([
      { pointer: '/a~1b', detail: expect.stringMatching(/^must /) },
    ]);
});

test('required: a field is missing, or need not be there; others than those of the schema are refused', () => {
  const field = { type: 'boolean' } as const;
  expect(findAnswerErrors(schemaOf(field), {})).toEqual([]);
  expect(findAnswerErrors(schemaOf(field, ['a/b']), {})).toMatchObject([{ pointer: '/a~1b' }]);
  expect(findAnswerErrors(schemaOf(field), { other: true, '~': 1, 'a/b': 0 })).toMatchObject([
    { pointer: '/a~1b' },
    { pointer: '/other' },
    { pointer: '/~0' },
  ]);
  for (const answer of [null, 'yes', [true]])
    expect(findAnswerErrors(schemaOf(field), answer)).toMatchObject([{ pointer: '' }]);
});

test('of many fields that are not asked for 20 are reported, of those with long names the whole answer once', () => {
  const unknown = (count: number, name: string) =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`${name}${n}`, 1]));
  const schema = schemaOf({ type: 'boolean' });
  const first = Array.from({ length: 20 }, (_, n) => ({ pointer: `/f${n}` }));
  expect(findAnswerErrors(schema, unknown(21, 'f'))).toMatchObject(first);
  expect(findAnswerErrors(schema, unknown(2, 'f'.repeat(1_015)))).toMatchObject([{}, {}]);
  expect(findAnswerErrors(schema, unknown(2, 'f'.repeat(1_016)))).toMatchObject([{ pointer: '' }]);
});

test('an answer has 8 KiB at most, with a schema or without; without one it is anything', () => {
  const longest = 'x'.repeat(8_190);
  for (const answer of [null, 1, [{}], longest]) expect(findAnswerErrors(undefined, answer)).toEqual([]);
  expect(findAnswerErrors(undefined, `${longest}x`)).toMatchObject([{ pointer: '' }]);
  expect(findAnswerErrors(schemaOf({ type: 'string' }), { 'a/b': longest })).toMatchObject([{ pointer: '' }]);
});

test.each<[string, Field, string]>([
  ['enum of a number', { type: 'number', enum: ['1'] }, '/properties/a~1b/enum'],
  ['minLength of a boolean', { type: 'boolean', minLength: 1 }, '/properties/a~1b/minLength'],
  ['minimum of a string', { type: 'string', minimum: 1 }, '/properties/a~1b/minimum'],
  ['maxLength below minLength', { type: 'string', minLength: 2, maxLength: 1 }, '/properties/a~1b/maxLength'],
  ['maximum below minimum', { type: 'number', minimum: 2, maximum: 1 }, '/properties/a~1b/maximum'],
  ['default of another type', { type: 'string', default: 1 }, '/properties/a~1b/default'],
])('a schema with %s is refused', (_what, field, pointer) => {
  expect(findSchemaErrors(schemaOf(field))).toMatchObject([{ pointer }]);
});

test('a schema has 20 fields at most, names of 1 to 256 characters, and requires no other', () => {
  const fields = (names: readonly string[]): AnswerSchema => ({
    type: 'object',
    properties: Object.fromEntries(names.map((name) => [name, { type: 'boolean' }])),
  });
  const names = Array.from({ length: 21 }, (_, index) => `f${index}`);
  expect(findSchemaErrors(fields([...names.slice(0, 20)]))).toEqual([]);
  expect(findSchemaErrors(fields(names))).toMatchObject([{ pointer: '/properties' }]);
  for (const name of ['', 'x'.repeat(257)])
    expect(findSchemaErrors(fields([name]))).toMatchObject([{ pointer: '/properties' }]);
  expect(findSchemaErrors(schemaOf({ type: 'boolean' }, ['other']))).toMatchObject([
    { pointer: '/required/0' },
  ]);
});

test('Of a write that repeats a question and asks another under its key, the other is refused.', () => {
  const asked = { key: 'deploy', prompt: 'Deploy?' };
  const state = { questions: [{ key: 'deploy', at: 0, askedMs: 1 }] } as unknown as TaskState;
  const questions = [
    { ...asked, at: 0 },
    { ...asked, prompt: 'Really?', at: 1 },
  ];
  const details = { questions: [asked] };
  const write = { type: 'write', agent_id: 'A', isSameWriter: true, questions, details } as const;
  expect(findRefused(state, write)).toEqual({ at: 1, why: 'other content' });
});
