/** How an exit of a program becomes the result of its task, or the reason of its failure. */
import { describe, expect, test } from 'vitest';
import { readResult } from '../../sdk/cli/child/child-handler.ts';

describe('an exit becomes the result of the task or the reason of its failure', () => {
  const success = { exitCode: 0, signal: null, output: '', truncated: false, lastLines: '' };

  test.each([
    [{ output: 'text\n' }, 'text', { output: 'text' }],
    [{ output: 'two\n\n' }, 'text', { output: 'two\n' }],
    [{ output: 'te', truncated: true }, 'text', { output: 'te', truncated: true }],
    [{ output: '{"a":1}\n' }, 'json', { a: 1 }],
    [{ output: '\ufeff{"a":1}\n' }, 'json', { a: 1 }],
    [{ output: '\ufefftext\n' }, 'text', { output: '\ufefftext' }],
  ] as const)('%j as %s is %j', (exit, kind, result) => {
    expect(readResult({ ...success, ...exit }, 'prog', kind)).toEqual(result);
  });

  test('a text is cut to what its JSON may have, never inside a character', () => {
    const output = `"${'👋'.repeat(300_000)}`;
    const cut = String(readResult({ ...success, output }, 'prog', 'text').output);
    expect(cut).toMatch(/^"(?:👋)+\n\[… left out …\]\n(?:👋){32768}$/u);
    expect(Buffer.byteLength(JSON.stringify(cut))).toBeGreaterThan(999_990);
    expect(Buffer.byteLength(JSON.stringify(cut))).toBeLessThanOrEqual(1_000_000);
  });

  test.each([
    [{ exitCode: 2 }, 'text', 'prog ended with exit code 2'],
    [{ exitCode: 2, lastLines: 'disk full' }, 'text', 'disk full'],
    [{ exitCode: null, signal: 'SIGKILL' }, 'text', 'prog was ended by SIGKILL'],
    [{ output: 'hi' }, 'json', 'prog did not write usable JSON'],
    [{ output: '[1]' }, 'json', 'prog wrote JSON that is not an object'],
    [{ output: '{', truncated: true }, 'json', 'more than --output-max'],
  ] as const)('%j as %s fails: %s', (exit, kind, reason) => {
    expect(() => readResult({ ...success, ...exit }, 'prog', kind)).toThrow(reason);
  });
});
