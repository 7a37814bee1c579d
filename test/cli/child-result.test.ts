/** How an exit of a program becomes the result of its task, or the reason of its failure. */
import { describe, expect, test } from 'vitest';
import { readResult } from '../../sdk/cli/child/child-handler.ts';
import { createForwarding, createLines, createTail } from '../../sdk/cli/child/kept-output.ts';

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

describe('what a program writes while it runs', () => {
  test('is handed on as long as the gateway takes it, then its end once the program has ended', async () => {
    const texts: string[] = [];
    const forwarding = createForwarding(async (text) => void texts.push(text), 10_000);
    for (let line = 0; line < 40_000; line += 1) await forwarding.add(`line ${line} 👋\n`);
    const begun = texts.length;
    await forwarding.end();
    expect(texts.slice(0, 2)).toEqual(['line 0 👋\n', 'line 1 👋\n']);
    expect(texts).toHaveLength(begun + 1);
    expect(texts.at(-1)).toMatch(/^\n\[… left out …\]\n[\s\S]*line 39998 👋\nline 39999 👋\n$/u);
    expect(Buffer.byteLength(JSON.stringify(texts.at(-1)))).toBeGreaterThan(60_000);
    expect(Buffer.byteLength(JSON.stringify(texts.join('')))).toBeLessThan(10_000 + 65_536 + 200);
  });

  test('follows whole where what is beyond is short', async () => {
    const texts: string[] = [];
    const forwarding = createForwarding(async (text) => void texts.push(text), 100);
    for (const text of ['x'.repeat(60), 'y'.repeat(60), 'z']) await forwarding.add(text);
    await forwarding.end();
    expect(texts).toEqual(['x'.repeat(60), `${'y'.repeat(60)}z`]);
  });

  test('is a reason without the frames of a bar that overwrote themselves', () => {
    const tail = createTail();
    tail.add('ERROR: disk full\n');
    for (let percent = 0; percent <= 90; percent += 1) tail.add(`\r${percent}% [${'#'.repeat(percent)}]`);
    expect(tail.read()).toBe(`ERROR: disk full\n90% [${'#'.repeat(90)}]`);
  });

  test('is logged in whole lines, however its bytes come', () => {
    const lines: string[] = [];
    const log = createLines((line) => lines.push(line));
    for (const character of `one\r\n\ntwo ${'#'.repeat(300)}\r\n10%\r20%\r`) log.add(character);
    expect(lines).toEqual(['one', `two ${'#'.repeat(300)}`]);
    log.end();
    expect(lines.slice(2)).toEqual(['20%']);
  });
});
