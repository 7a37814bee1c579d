/** The form of a submission: what is wrong with each field, and the submission the fields make. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Draft, draftOf, EMPTY_DRAFT, validateDraft } from '../../server/console/pages/submit/draft.ts';
import { describeJsonFault } from '../../server/console/pages/submit/json-fault.ts';

const DRAFT: Draft = { ...EMPTY_DRAFT, task_type: 'translate', task_tags: ['zh'], payload: '{"a": 1}' };

describe('a draft', () => {
  test('makes a submission; empty fields are left out', () => {
    expect(validateDraft(DRAFT)).toEqual({
      submission: { task_type: 'translate', task_tags: ['zh'], timeout: 600, payload: { a: 1 } },
      faults: {},
    });
  });

  test('of a submission makes the same again', () => {
    const submission = {
      task_type: 'x',
      task_tags: ['a', 'b'],
      cli_session_id: 's',
      timeout: 1.5,
      queue_timeout: 0,
      payload: { deep: [{ a: null }], text: '🌙' },
    };
    expect(validateDraft(draftOf(submission)).submission).toEqual(submission);
  });

  test.each<[string, Partial<Draft>, keyof Draft, RegExp]>([
    ['no type', { task_type: '' }, 'task_type', /^Write a type/],
    ['a type too long', { task_type: 'x'.repeat(257) }, 'task_type', /256 characters/],
    ['a session too long', { cli_session_id: 'x'.repeat(257) }, 'cli_session_id', /256/],
    ['too many tags', { task_tags: Array.from({ length: 65 }, (_, n) => `t${n}`) }, 'task_tags', /64 tags/],
    ['a tag too long', { task_tags: ['x'.repeat(257)] }, 'task_tags', /256/],
    ['a payload that is a list', { payload: '[1]' }, 'payload', /is an object/],
    ['a payload that is null', { payload: 'null' }, 'payload', /is an object/],
    [
      'a payload with a number that would change',
      { payload: '{"text": "653247040368672768", "ids": [1.0, 653247040368672768]}' },
      'payload',
      /^653247040368672768 would arrive as 653247040368672800\. Put it in double quotes/,
    ],
    ['a payload with a number that is too large', { payload: '{"a": -1e400}' }, 'payload', /^-1e400 would/],
    ['no payload', { payload: '' }, 'payload', /nothing is here/],
    ['a timeout of 0', { timeout: '0' }, 'timeout', /above 0/],
    ['a timeout that is no number', { timeout: '10 min' }, 'timeout', /above 0/],
    ['a wait below 0', { queue_timeout: '-1' }, 'queue_timeout', /such as 120/],
  ])('%s makes none', (_title, change, field, says) => {
    const { submission, faults } = validateDraft({ ...DRAFT, ...change });
    expect(submission).toBeNull();
    expect(Object.keys(faults)).toEqual([field]);
    expect(faults[field]).toMatch(says);
  });

  test('256 characters are counted as the contract counts them', () => {
    expect(validateDraft({ ...DRAFT, task_type: '🌙'.repeat(256) }).faults).toEqual({});
  });
});

describe('what is wrong with JSON', () => {
  test.each([
    ['{\n  "a": 1,\n}', 'Line 2: a comma before the closing brace. JSON allows none there.'],
    ['{"a": [1,\n2,\n]}', 'Line 2: a comma before the closing bracket. JSON allows none there.'],
    ['{\n"a": 1\n"b": 2}', 'Line 3: a comma is missing before this.'],
    ['{"a" 1}', 'Line 1: a colon is missing behind the key.'],
    ['{\n a: 1}', 'Line 2: a key in double quotes is missing here.'],
    ["{'a': 1}", 'Line 1: a key in double quotes is missing here.'],
    [`{"a": 'b'}`, 'Line 1: JSON has double quotes only.'],
    ['{"a": "b}\n', 'Line 1: the text does not end on its line: a " is missing.'],
    ['{"a": "b\\x"}', 'Line 1: the text has a character that JSON writes with a backslash.'],
    ['{"a": nope}', 'Line 1: this is no value. Texts have double quotes around them.'],
    ['{"a": 01}', 'Line 1: this is no value. Texts have double quotes around them.'],
    ['{"a": 1', 'Line 1: the closing brace } is missing.'],
    ['{"a": [1', 'Line 1: the closing bracket ] is missing.'],
    ['{"a": [1}', 'Line 1: } closes what [ opened.'],
    ['{"a": }', 'Line 1: a value is missing before this.'],
    ['{} {}', 'Line 1: something follows behind the end.'],
    ['', 'Line 1: nothing is here. Write {} for an empty payload.'],
  ])('%j', (text, says) => {
    expect(describeJsonFault(text)).toBe(says);
  });

  test('nothing, where it is JSON', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(describeJsonFault(text)).toBeNull();
      }),
    );
  });

  test('something with a line, where it is not', () => {
    const broken = fc
      .tuple(fc.json(), fc.nat(), fc.constantFrom(',', '}', ']', '"', ':', 'x', ''))
      .map(
        ([text, at, put]) =>
          `${text.slice(0, at % (text.length + 1))}${put}${text.slice((at % (text.length + 1)) + 1)}`,
      );
    fc.assert(
      fc.property(broken, (text) => {
        const isJson = ((): boolean => {
          try {
            JSON.parse(text);
            return true;
          } catch {
            return false;
          }
        })();
        const fault = describeJsonFault(text);
        if (isJson) expect(fault).toBeNull();
        else {
          expect(fault).toMatch(/^Line \d+: .+\.$/);
          expect(fault).not.toMatch(/this is not JSON/);
        }
      }),
    );
  });
});
