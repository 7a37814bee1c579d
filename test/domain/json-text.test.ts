/** Values that are kept as their text: what is stored and read is the same JSON. */
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { JsonText, parseStored, writeJson } from '../../server/domain/json-text.ts';

/** A value that is large, and one that is just long enough to be kept as text. */
const LENGTHS = [70_000, 2_048];
const long = 'x'.repeat(70_000);
const input = (payload: object): object => ({
  request_id: 'r1',
  task_type: ',"payload":{',
  task_tags: [',"cli_session_id":', '"'],
  payload,
  cli_session_id: ',"payload":{"a":1}',
  create_time: 1,
  timeout: 60,
});
const state = (result: object | null): object => ({
  status: 'success',
  agent_id: ',"result":{',
  progress: 100,
  result,
  error_info: null,
  task_tags: ['a'],
  cli_session_id: 's',
});
/** Each has text or keys that look like the fields around it. */
const buildValues = (long: string): readonly object[] => [
  { text: long },
  { payload: { long, cli_session_id: 'inner' }, cli_session_id: { payload: 1 } },
  {
    a: [
      { payload: {}, cli_session_id: 's' },
      { result: {}, error_info: long },
    ],
    error_info: { result: {} },
  },
  { x: 1, payload: { long }, cli_session_id: 's', result: { long }, error_info: {} },
  { text: `,"cli_session_id":","error_info":","payload":{"result":{${long}`, z: '\\",' },
  JSON.parse(`{"__proto__": {"payload": 1}, "text": "${long}\\u0000\\ud800 中"}`),
];

describe('what is stored of a value', () => {
  const values = LENGTHS.flatMap((length) => buildValues('x'.repeat(length)));
  const rows = values.flatMap((value) => [
    input(value),
    state(value),
    { r: '1-2', v: input(value) },
    { r: '1-2', v: state(value) },
  ]);

  test.each(rows.map((row) => [row]))('is read as the same JSON, without a look into it', (row) => {
    const text = JSON.stringify(row);
    const parse = vi.spyOn(JSON, 'parse');
    const read = parseStored(text) as { v?: object };
    const longest = Math.max(...parse.mock.calls.map(([parsed]) => parsed.length));
    parse.mockRestore();
    expect(JSON.stringify(read)).toBe(text);
    expect(read.v ? `{"r":"1-2","v":${writeJson(read.v)}}` : writeJson(read)).toBe(text);
    expect(Object.values(read.v ?? read).some((field) => field instanceof JsonText)).toBe(true);
    expect(longest).toBeLessThan(text.length);
  });

  test('is parsed where its fields are in another order, or it has none', () => {
    for (const value of [
      { cli_session_id: 's', payload: { cli_session_id: long, x: { a: 1, cli_session_id: '' } }, timeout: 1 },
      { error_info: long, result: null },
      { agent_id: long },
    ]) {
      expect(parseStored(JSON.stringify(value))).toEqual(value);
    }
  });
});

test('a small value is parsed', () => {
  expect(parseStored(JSON.stringify(input({ a: 1 })))).toEqual(input({ a: 1 }));
});

test('writing leaves out what JSON leaves out', () => {
  const text = new JsonText('{"a":1}');
  expect(writeJson({ b: undefined, text, c: null })).toBe('{"text":{"a":1},"c":null}');
  expect(JSON.stringify({ text })).toBe('{"text":{"a":1}}');
});

/** JSON in which the keys are found that the stored fields have. */
const lookAlikes = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(null, 1, ',"payload":{', '"}', 's'),
    fc.array(tie('value'), { maxLength: 3 }),
    tie('object'),
  ),
  object: fc
    .uniqueArray(
      fc.tuple(fc.constantFrom('n', 'payload', 'cli_session_id', 'result', 'error_info', 'v'), tie('value')),
      { selector: ([key]) => key, maxLength: 4 },
    )
    .map((fields) => Object.fromEntries(fields)),
}));

test('beside the stored fields any JSON may stand, such as the schema of a question and its answer', () => {
  const rows = fc
    .record({
      answers: fc.array(lookAlikes.value, { maxLength: 3 }),
      result: lookAlikes.object,
      settled: fc.boolean(),
    })
    .map(({ answers, result, settled }) => ({
      ...state(settled ? { long, ...(result as object) } : null),
      questions: answers.map((answer, n) => ({ key: `${n}`, prompt: long, answer })),
    }));
  fc.assert(
    fc.property(rows, fc.boolean(), (row, isEnveloped) => {
      const whole = isEnveloped ? { r: '1-2', d: null, v: row } : row;
      const text = JSON.stringify(whole);
      const read = parseStored(text) as { v?: object };
      const { result, ...rest } = (isEnveloped ? read.v : read) as { readonly result: unknown };
      expect(rest).toEqual({ ...row, result: undefined });
      expect(JSON.stringify(result)).toBe(JSON.stringify((row as { result?: unknown }).result));
      expect(JSON.stringify(read)).toBe(text);
    }),
    { numRuns: 2_000 },
  );
});

test('an answer with two fields that look like those of a submission stays as it is', () => {
  const answer = [
    { n: 1, payload: { a: 1 }, cli_session_id: 's' },
    { n: 2, payload: { b: 2 }, cli_session_id: 't' },
  ];
  const row = { ...state(null), questions: [{ prompt: long, answer }] };
  expect(parseStored(JSON.stringify({ r: '1-2', v: row }))).toEqual({ r: '1-2', v: row });
});
