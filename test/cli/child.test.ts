/** Child processes of `agent exec`: their input and output, how they exit, and that none is left over. */
import { describe, expect, test, vi } from 'vitest';
import { type ChildOptions, runChild } from '../../sdk/cli/child/child.ts';
import { canRun } from '../../sdk/cli/child/executables.ts';
import { startGroupWatch } from '../../sdk/cli/child/group-watch.ts';
import { startTimer } from '../../sdk/cli/timers.ts';
import { isRunning } from './cli-process.ts';

function run(script: string, more: Partial<ChildOptions> = {}, command = ['sh', '-c', script]) {
  return runChild(command, {
    input: '',
    env: { PATH: process.env.PATH },
    signal: new AbortController().signal,
    killAfterMs: 300,
    outputBytesMax: 1_000,
    onProgress: () => undefined,
    onErrorLine: () => undefined,
    ...more,
  });
}

describe('a program', () => {
  test('receives its input; its output, exit code and last error lines are returned', async () => {
    const exit = await run('cat; echo; echo "why not" >&2; exit 3', { input: '{"a":"世界"}' });
    expect(exit).toEqual({
      exitCode: 3,
      signal: null,
      output: '{"a":"世界"}\n',
      truncated: false,
      lastLines: 'why not',
    });
  });

  test('may exit without reading its input, however large that is', async () => {
    expect(await run('exec true', { input: 'x'.repeat(1_000_000) })).toMatchObject({ exitCode: 0 });
  });

  test('that can’t be started makes runChild reject', async () => {
    await expect(run('', {}, ['/no/such/program'])).rejects.toThrow('ENOENT');
  });

  test('has its output cut to the limit, beginning and end, but never inside a character', async () => {
    const { output, truncated } = await run('yes 世 | head -c 100000', { outputBytesMax: 10 });
    expect({ output, truncated }).toEqual({ output: '世\n\n[… left out …]\n\n世\n', truncated: true });
  });

  test('has its output as it is, and in its last error lines what a terminal would obey escaped', async () => {
    const script = `printf '\\357\\273\\277{"a":1}\\033[31m\\0'; printf 'one\\r\\ntwo\\rthree\\033[31m\\n\\342\\200\\256\\tfour\\n' >&2; exit 1`;
    expect(await run(script)).toMatchObject({
      output: '\ufeff{"a":1}\u001b[31m\0',
      lastLines: 'one\nthree\\u001b[31m\n\\u202e\tfour',
    });
  });

  test('has the last 64 KiB of a long output, and says why it failed also if it does so on standard output', async () => {
    const exit = await run('yes begin | head -c 300000; echo why; exit 1', { outputBytesMax: 200_000 });
    expect(exit.output).toMatch(/^(begin\n)+[a-z]*\n\[… left out …\]\n[a-z]*\n(begin\n)+why\n$/);
    expect(exit.output.split('left out …]\n')[1]).toHaveLength(65_536);
    expect(exit.lastLines).toMatch(/^begin\n[\s\S]*\nwhy$/);
  });

  test('keeps no half of a character at the start of its last error lines', async () => {
    const { lastLines } = await run(`printf '👋%.0s' $(seq 1500) >&2; printf x >&2`);
    expect(lastLines).toBe(`${'👋'.repeat(999)}x`);
  });

  test('reports progress by markers on either output; the markers are not part of the output', async () => {
    const progress: number[] = [];
    const exit = await run(
      'echo "::progress 10::"; echo one; echo "::progress 55.5 %::" >&2; echo two >&2; printf "::progress 90::"',
      { onProgress: (percent) => progress.push(percent) },
    );
    expect(progress.toSorted()).toEqual([10, 55.5, 90]);
    expect(exit).toMatchObject({ output: 'one\n', lastLines: 'two' });
  });

  test('reports the progress that a pattern finds on either output, and nothing is taken out of that', async () => {
    const progress: number[] = [];
    const script = String.raw`printf '\r\033[32m 10%% [##]\r 100%% [##]' >&2; echo "2 of 5 done, 1% or 40%"`;
    const exit = await run(script, {
      progress: /(\d+)%/,
      onProgress: (percent) => progress.push(percent),
    });
    expect(progress).toContain(40);
    expect(progress).toContain(100);
    expect(exit.output).toBe('2 of 5 done, 1% or 40%\n');
  });

  test('keeps nothing of an output but the marker and one byte where that is the limit', async () => {
    expect(await run('yes | head -c 100000', { outputBytesMax: 1 })).toMatchObject({
      output: 'y\n[… left out …]\n',
      truncated: true,
    });
  });

  test('and all processes it started end on SIGTERM', async () => {
    const controller = new AbortController();
    let pid = 0;
    const exit = run('sleep 1000 & echo $! >&2; wait', {
      signal: controller.signal,
      onErrorLine: (text) => {
        pid = Number(text);
        controller.abort();
      },
    });
    expect(await exit).toMatchObject({ exitCode: null, signal: 'SIGTERM' });
    await vi.waitFor(() => expect(isRunning(pid)).toBe(false), { timeout: 60_000 });
  });

  test('that ignores SIGTERM is killed', async () => {
    const controller = new AbortController();
    const exit = run('trap "" TERM; echo ready >&2; while :; do sleep 0.05; done', {
      signal: controller.signal,
      onErrorLine: () => controller.abort(),
    });
    expect(await exit).toMatchObject({ signal: 'SIGKILL' });
  });

  test('is given a time to end of more than 24.8 days, as it is', async () => {
    const controller = new AbortController();
    const exit = run('trap "echo ended; exit 0" TERM; echo ready >&2; while :; do sleep 0.05; done', {
      signal: controller.signal,
      killAfterMs: 30 * 86_400_000,
      onErrorLine: () => controller.abort(),
    });
    expect(await exit).toMatchObject({ exitCode: 0, output: 'ended\n' });
  });

  test('starts once the watch expects it, as the process that the watch gets, with its environment unchanged', async () => {
    const steps: string[] = [];
    const watch = {
      async expect(entry: string) {
        await new Promise((resolve) => setImmediate(resolve));
        steps.push(`expects ${entry}`);
      },
      add: (id: number, entry: string) => void steps.push(`has ${id} for ${entry}`),
      forget: () => void steps.push('forgets'),
      remove: (id: number) => void steps.push(`removes ${id}`),
    };
    const program = 'process.stderr.write("runs " + process.pid); console.log(JSON.stringify(process.env))';
    const env = { 'spring.datasource.url': 'jdbc:x', 'with-dash': '', _: 'own', 变量: '值', N: '1' };
    const exit = await runChild([process.execPath, '-e', program], {
      input: '',
      env,
      signal: new AbortController().signal,
      watch,
      watchedEntry: 'N=1',
      killAfterMs: 300,
      outputBytesMax: 1_000,
      onProgress: () => undefined,
      onErrorLine: (text) => steps.push(text),
    });
    expect(JSON.parse(exit.output)).toEqual(env);
    const [, pid] = /has (\d+)/.exec(steps.join()) ?? [];
    expect(steps).toEqual(['expects N=1', `has ${pid} for N=1`, `runs ${pid}`, `removes ${pid}`]);
  });

  test('that can’t be started is no longer expected', async () => {
    const steps: string[] = [];
    const note = (step: string) => (): void => void steps.push(step);
    const watch = {
      expect: async () => note('expect')(),
      add: note('add'),
      forget: note('forget'),
      remove: note('remove'),
    };
    const options = {
      input: '',
      env: {},
      signal: new AbortController().signal,
      killAfterMs: 1,
      outputBytesMax: 1,
    };
    const more = { onProgress: () => undefined, onErrorLine: () => undefined, watch };
    await expect(runChild(['/no/such/program'], { ...options, ...more })).rejects.toThrow('ENOENT');
    expect(steps).toEqual(['expect', 'forget']);
  });

  test.each(['/no/such/sh', '/usr/bin/false'])(
    'runs without a watch where %s is the shell, which is said once',
    async (shell) => {
      const reasons: string[] = [];
      const watch = startGroupWatch(300, (reason) => reasons.push(reason), shell);
      for (const text of ['one', 'two']) {
        const exit = await runChild([process.execPath, '-p', '1'], {
          input: text,
          env: {},
          signal: new AbortController().signal,
          killAfterMs: 300,
          outputBytesMax: 9,
          onProgress: () => undefined,
          onErrorLine: () => undefined,
          watch,
          watchedEntry: 'A=1',
        });
        expect(exit).toMatchObject({ exitCode: 0, output: '1\n' });
      }
      expect(reasons).toHaveLength(1);
      expect(reasons[0]).toContain(shell);
    },
  );

  test('whose signal is aborted before it starts ends at once', async () => {
    // Long enough for a busy machine to let the program run at all before it is killed.
    const exit = await run('sleep 1000', { signal: AbortSignal.abort(), killAfterMs: 60_000 });
    expect(exit).toMatchObject({ signal: 'SIGTERM' });
  });

  test('leaves no process behind, whether that holds its output open or not', async () => {
    let pids: readonly number[] = [];
    const exit = await run('sleep 1000 & a=$!; sleep 1000 >/dev/null 2>&1 & echo $a $! >&2; echo done', {
      onErrorLine: (text) => {
        pids = text.trim().split(' ').map(Number);
      },
    });
    expect(exit).toMatchObject({ exitCode: 0, output: 'done\n' });
    expect(pids).toHaveLength(2);
    await vi.waitFor(() => expect(pids.filter(isRunning)).toEqual([]), { timeout: 60_000 });
  });

  test('is held back also once it has exited: its own output is read, that of what it left behind waits', async () => {
    let pid = 0;
    let chars = 0;
    let ended: Promise<void> | undefined;
    const own = 'head -c 100000 /dev/zero | tr "\\0" x';
    const exit = await run(`${own}; yes $(printf %0999d 0) | head -c 20000000 & echo $! >&2; sleep 0.1`, {
      outputBytesMax: 100_000,
      onErrorLine: (text) => {
        pid = Number(text);
      },
      async onOutputText(text) {
        chars += text.length;
        ended ??= vi.waitFor(() => expect(pid > 0 && !isRunning(pid)).toBe(true), { timeout: 60_000 });
        await ended;
      },
    });
    expect(exit).toMatchObject({ exitCode: 0, truncated: true });
    expect(exit.output.startsWith('x'.repeat(50_000))).toBe(true);
    expect(chars).toBeLessThan(2_000_000);
  });

  test('has its result once what it wrote is taken', async () => {
    const [ending, taken] = [new AbortController(), [] as number[]];
    const onOutputText = async (text: string): Promise<void> => {
      ending.abort();
      await vi.waitFor(() => expect(isRunning(Number(text))).toBe(false), { timeout: 60_000 });
      taken.push(Number(text));
    };
    const { output } = await run('echo $$; sleep 1000', { onOutputText, signal: ending.signal });
    expect(taken).toEqual([Number(output)]);
  });

  test('is searched in PATH', () => {
    expect(canRun('sh', { PATH: process.env.PATH })).toBe(true);
    expect(canRun('/bin/sh', {})).toBe(true);
    expect(canRun('no-such-program', { PATH: process.env.PATH })).toBe(false);
    expect(canRun('/etc/passwd', {})).toBe(false);
    expect(canRun('/tmp', {})).toBe(false);
  });
});

test('a timer of 60 days fires after 60 days, and not if it is stopped after 50', () => {
  const dayMs = 86_400_000;
  vi.useFakeTimers();
  try {
    const fired: string[] = [];
    startTimer(60 * dayMs, () => fired.push('kept'));
    const stop = startTimer(60 * dayMs, () => fired.push('stopped'));
    vi.advanceTimersByTime(50 * dayMs);
    stop();
    vi.advanceTimersByTime(10 * dayMs - 1);
    expect(fired).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(fired).toEqual(['kept']);
  } finally {
    vi.useRealTimers();
  }
});
