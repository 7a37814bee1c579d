/** The form of a submission: what is wrong with each field, and the submission the fields make. */
import { describe, expect, test } from 'vitest';
import {
  type Draft,
  describeFault,
  draftOf,
  EMPTY_DRAFT,
  validateDraft,
} from '../../server/console/pages/submit/draft.ts';

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
    ['no payload', { payload: '' }, 'payload', /^Nothing is here/],
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

describe('what the parser of a browser says', () => {
  test.each([
    ['here', fault('{\n  "a": 1,\n}'), 'Line 3: Expected double-quoted property name.'],
    [
      'here, without a line',
      fault('{"a": nope}'),
      /^Not JSON: Unexpected token 'o', "{"a": nope}" is not valid JSON\.$/,
    ],
    [
      'in Firefox',
      'SyntaxError: JSON.parse: expected double-quoted property name at line 3 column 1 of the JSON data',
      'Line 3: expected double-quoted property name.',
    ],
    [
      'in Safari',
      'SyntaxError: JSON Parse error: Property name must be a string literal',
      'Not JSON: Property name must be a string literal.',
    ],
  ])('%s', (_, said, words) => {
    expect(describeFault(said)).toMatch(words);
  });
});

function fault(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch (error) {
    return String(error);
  }
}
