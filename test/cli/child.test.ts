/** A program run for a task: what it writes, how it ends, and that nothing it started outlives it. */
import { describe, expect, test, vi } from 'vitest';
import { type ChildOptions, canRun, runChild } from '../../sdk/cli/commands/child.ts';
import { judgeRun } from '../../sdk/cli/commands/exec.ts';
import { createMarkerFilter } from '../../sdk/cli/commands/progress-markers.ts';
import { isAlive } from './is-running.ts';

function run(script: string, more: Partial<ChildOptions> = {}) {
  return runChild(['sh', '-c', script], {
    ...{ input: '', env: { PATH: process.env.PATH }, signal: new AbortController().signal },
    ...{ killAfterMs: 300, outputBytesMax: 1_000, onProgress: () => undefined, onErrorText: () => undefined },
    ...more,
  });
}

describe('a program', () => {
  test('is given its input, and its output, end and last words are kept', async () => {
    const end = await run('cat; echo; echo "why not" >&2; exit 3', { input: '{"a":"世界"}' });
    expect(end).toEqual({
      ...{ exitCode: 3, signal: null, output: '{"a":"世界"}\n', truncated: false, lastWords: 'why not' },
    });
  });

  test('need not read its input, however large', async () => {
    expect(await run('exec true', { input: 'x'.repeat(1_000_000) })).toMatchObject({ exitCode: 0 });
  });

  test('that can’t be started is an error', async () => {
    const options = { input: '', env: {}, signal: new AbortController().signal, killAfterMs: 1 };
    const more = { outputBytesMax: 1, onProgress: () => undefined, onErrorText: () => undefined };
    await expect(runChild(['/no/such/program'], { ...options, ...more })).rejects.toThrow('ENOENT');
  });

  test('is kept within its limit of output, whole characters only', async () => {
    const { output, truncated } = await run('yes 世 | head -c 100000', { outputBytesMax: 10 });
    expect({ output, truncated }).toEqual({ output: '世\n世\n', truncated: true });
  });

  test('tells its progress on either output, and that is no output', async () => {
    const progress: number[] = [];
    const end = await run(
      'echo "::progress 10::"; echo one; echo "::progress 55.5 %::" >&2; echo two >&2; printf "::progress 90::"',
      { onProgress: (percent) => progress.push(percent) },
    );
    expect(progress.toSorted()).toEqual([10, 55.5, 90]);
    expect(end).toMatchObject({ output: 'one\n', lastWords: 'two' });
  });

  test('ends on SIGTERM with all it started', async () => {
    const stopping = new AbortController();
    let pid = 0;
    const ended = run('sleep 1000 & echo $! >&2; wait', {
      signal: stopping.signal,
      onErrorText: (text) => {
        pid = Number(text);
        stopping.abort();
      },
    });
    expect(await ended).toMatchObject({ exitCode: null, signal: 'SIGTERM' });
    await vi.waitFor(() => expect(isAlive(pid)).toBe(false), { timeout: 10_000 });
  });

  test('that ignores SIGTERM is killed', async () => {
    const stopping = new AbortController();
    const ended = run('trap "" TERM; echo ready >&2; while :; do sleep 0.05; done', {
      signal: stopping.signal,
      onErrorText: () => stopping.abort(),
    });
    expect(await ended).toMatchObject({ signal: 'SIGKILL' });
  });

  test('whose signal has fired before it starts ends at once', async () => {
    expect(await run('sleep 1000', { signal: AbortSignal.abort() })).toMatchObject({ signal: 'SIGTERM' });
  });

  test('leaves nobody behind, not those that hold its output nor those that don’t', async () => {
    let pids: readonly number[] = [];
    const end = await run('sleep 1000 & a=$!; sleep 1000 >/dev/null 2>&1 & echo $a $! >&2; echo done', {
      onErrorText: (text) => {
        pids = text.trim().split(' ').map(Number);
      },
    });
    expect(end).toMatchObject({ exitCode: 0, output: 'done\n' });
    expect(pids).toHaveLength(2);
    await vi.waitFor(() => expect(pids.filter(isAlive)).toEqual([]), { timeout: 10_000 });
  });

  test('is looked for on the path', () => {
    expect(canRun('sh', { PATH: process.env.PATH })).toBe(true);
    expect(canRun('/bin/sh', {})).toBe(true);
    expect(canRun('no-such-program', { PATH: process.env.PATH })).toBe(false);
    expect(canRun('/etc/passwd', {})).toBe(false);
    expect(canRun('/tmp', {})).toBe(false);
  });
});

describe('a marker line', () => {
  /** What passes and what is progress, when the text comes in these pieces. */
  function filter(...pieces: readonly string[]) {
    const told: { passed: string; progress: number[] } = { passed: '', progress: [] };
    const { write, end } = createMarkerFilter({
      onProgress: (percent) => told.progress.push(percent),
      pass: (text) => {
        told.passed += text;
      },
    });
    for (const piece of pieces) write(piece);
    end();
    return told;
  }

  test.each([
    [['::progress 40::\n'], '', [40]],
    [['::pro', 'gress 4', '0::', '\n', 'x'], 'x', [40]],
    [['a\n::progress 1::\r\nb\n::progress 100%::\n'], 'a\nb\n', [1, 100]],
    [['say ::progress 40::\n'], 'say ::progress 40::\n', []],
    [['::progress::\n::progress x::\n'], '::progress::\n::progress x::\n', []],
    [
      [`${'x'.repeat(100)}`, '::progress 40::\n', '::progress 41::\n'],
      `${'x'.repeat(100)}::progress 40::\n`,
      [41],
    ],
    [['no break at the end'], 'no break at the end', []],
    [['', '\n\n'], '\n\n', []],
  ])('%j', (pieces, passed, progress) => {
    expect(filter(...pieces)).toEqual({ passed, progress });
  });
});

describe('a run becomes a result or a reason', () => {
  const fine = { exitCode: 0, signal: null, output: '', truncated: false, lastWords: '' };

  test.each([
    [{ output: 'text\n' }, 'text', { output: 'text' }],
    [{ output: 'two\n\n' }, 'text', { output: 'two\n' }],
    [{ output: 'te', truncated: true }, 'text', { output: 'te', truncated: true }],
    [{ output: '{"a":1}\n' }, 'json', { a: 1 }],
  ] as const)('%j as %s is %j', (end, kind, result) => {
    expect(judgeRun({ ...fine, ...end }, 'prog', kind)).toEqual(result);
  });

  test.each([
    [{ exitCode: 2 }, 'text', 'prog ended with exit code 2'],
    [{ exitCode: 2, lastWords: 'disk full' }, 'text', 'disk full'],
    [{ exitCode: null, signal: 'SIGKILL' }, 'text', 'prog was ended by SIGKILL'],
    [{ output: 'hi' }, 'json', 'prog wrote no JSON'],
    [{ output: '[1]' }, 'json', 'prog wrote JSON that is no object'],
    [{ output: '{', truncated: true }, 'json', 'more than --output-max'],
  ] as const)('%j as %s fails: %s', (end, kind, reason) => {
    expect(() => judgeRun({ ...fine, ...end }, 'prog', kind)).toThrow(reason);
  });
});
