/** What is typed wrong, and what may be typed: found without a gateway, in this process. */
import { describe, expect, test } from 'vitest';
import type { Desk } from '../../sdk/cli/commands/context.ts';
import { suggest } from '../../sdk/cli/commands/suggestions.ts';
import { createInterrupts } from '../../sdk/cli/interrupts.ts';
import { createProgram, runProgram } from '../../sdk/cli/program.ts';
import { createScreen } from '../../sdk/cli/terminal/terminal.ts';

/** A desk whose streams are texts, with nothing on standard input. */
function createDesk() {
  const written = { stdout: '', stderr: '' };
  const streamOf = (name: keyof typeof written) => ({
    write(text: string, done?: () => void) {
      written[name] += text;
      done?.();
    },
  });
  const env = { PATH: process.env.PATH };
  const desk: Desk = {
    env,
    screen: createScreen(streamOf('stdout'), streamOf('stderr'), env),
    stdin: (async function* () {})(),
    interrupts: createInterrupts({ on: () => undefined }, () => undefined),
  };
  return { desk, written };
}

describe('wrong usage', () => {
  test.each([
    [[], /^Usage: task-gateway/],
    [['nonsense'], /unknown command 'nonsense'\. See --help/],
    [['run'], /missing required argument 'type'/],
    [['run', 'x', '--tagg=y'], /unknown option '--tagg=…' \(Did you mean --tag\?\)/],
    [['run', 'x'], /Say with --tag/],
    [['run', 'x', '-t', 'y', 'oops'], /"oops" is no part of a payload/],
    [['run', 'x', '-t', 'y', '--timeout', '-1'], /Give seconds above 0/],
    [['run', 'x', '-t', 'y', '--timeout', '1e999'], /Give seconds above 0/],
    [['run', 'x', '-t', 'y', '--url', 'ftp://x'], /--url must be an http/],
    [['task', 'list', '--status', 'odd'], /Allowed choices are pending, running/],
    [['task', 'get', 'x', '-o', 'xml'], /Allowed choices are table, json, jsonl/],
    [['events', 's', '-o', 'table'], /JSON lines only/],
    [['agent', 'exec', '-t', 'x', '--', 'no-such-program'], /is no program that can be run/],
    [['agent', 'exec', '-t', 'x', '--pull', '--listen', ':0', '--', 'true'], /cannot be used with/],
    [['agent', 'exec', '-t', 'x', '--endpoint', 'http://x', '--', 'true'], /give both/],
    [['completion', 'tcsh'], /Allowed choices are bash, zsh, fish/],
  ])('%j is exit 2 and one line', async (words, text) => {
    const { desk, written } = createDesk();
    expect(await runProgram(desk, words)).toBe(2);
    expect(written.stdout).toBe('');
    expect(written.stderr).toMatch(text);
    if (words.length > 0) expect(written.stderr.trimEnd()).not.toContain('\n');
  });
});

describe('what may follow', () => {
  const program = createProgram(createDesk().desk);
  const wordsFor = (...words: readonly string[]) => suggest(program, words).map(({ word }) => word);

  test.each([
    [[''], ['run', 'task', 'events', 'agent', 'doctor', 'completion']],
    [[], ['run', 'task', 'events', 'agent', 'doctor', 'completion']],
    [['ta'], ['task']],
    [
      ['task', ''],
      ['submit', 'get', 'wait', 'cancel', 'list'],
    ],
    [
      ['--url', 'task', 'agent', ''],
      ['list', 'exec'],
    ],
    [
      ['task', 'list', '--status', ''],
      ['pending', 'running', 'success', 'failed'],
    ],
    [
      ['task', 'list', '-o', 'json'],
      ['json', 'jsonl'],
    ],
    [['run', 'x', '--tag', ''], []],
    [['run', 'x', '--ta'], ['--tag']],
    [
      ['completion', ''],
      ['bash', 'zsh', 'fish'],
    ],
    [['completion', 'bash', ''], []],
    [['agent', 'exec', '--', '--'], []],
    [['--auth-f'], ['--auth-file']],
    [['doctor', '--de'], ['--debug']],
  ])('%j: %j', (words, follow) => {
    expect(wordsFor(...words)).toEqual(follow);
  });

  test('every option and command says what it is for', () => {
    for (const words of [
      ['-'],
      ['run', '--'],
      ['task', 'list', '--'],
      ['agent', 'exec', '--'],
      ['task', ''],
    ]) {
      for (const { word, meaning } of suggest(program, words)) expect(meaning, word).not.toBe('');
    }
  });
});

describe('Ctrl-C', () => {
  function press(options?: { hasTerminal: boolean }) {
    const heard: Partial<Record<NodeJS.Signals, () => void>> = {};
    const left: number[] = [];
    const source = {
      on(signal: NodeJS.Signals, listener: () => void) {
        heard[signal] = listener;
      },
    };
    return { heard, left, interrupts: createInterrupts(source, (exitCode) => left.push(exitCode), options) };
  }

  test('asks once and leaves the second time', () => {
    const { heard, left, interrupts } = press();
    heard.SIGINT?.();
    expect([interrupts.first.aborted, interrupts.exitCode(), left]).toEqual([true, 130, []]);
    heard.SIGINT?.();
    expect(left).toEqual([130]);
  });

  test('asks twice where a command has something to say to that', () => {
    const { heard, left, interrupts } = press();
    interrupts.allowSecond();
    heard.SIGTERM?.();
    expect([interrupts.second.aborted, interrupts.exitCode()]).toEqual([false, 143]);
    heard.SIGINT?.();
    expect([interrupts.second.aborted, left]).toEqual([true, []]);
    heard.SIGINT?.();
    expect(left).toEqual([130]);
  });

  test('and a closed terminal are the same where there is one; nohup stays what it is', () => {
    const { heard, interrupts } = press({ hasTerminal: true });
    heard.SIGHUP?.();
    expect([interrupts.first.aborted, interrupts.exitCode()]).toEqual([true, 129]);
    expect(press().heard.SIGHUP).toBeUndefined();
  });
});
