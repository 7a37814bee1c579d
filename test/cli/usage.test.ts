/**
 * Wrong usage, addresses of --listen, suggestions for completion, and signals, all without a gateway and
 * within this process.
 */
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { listSuggestions } from '../../sdk/cli/arguments/suggestions.ts';
import { parseListen } from '../../sdk/cli/commands/agent-exec.ts';
import { createInterrupts, type InterruptOptions } from '../../sdk/cli/interrupts.ts';
import { createProgram } from '../../sdk/cli/program.ts';
import { createTestContext, runCommand } from './command-run.ts';

describe('wrong usage', () => {
  test.each([
    [[], /^Usage: task-gateway/],
    [['nonsense'], /unknown command 'nonsense'\. See --help/],
    [['get', 'x'], /unknown command 'get'\. Did you mean "task get"\? See --help/],
    [['exec'], /Did you mean "agent exec"\?/],
    [['list'], /Did you mean "task list" or "agent list" or "config list"\?/],
    [['run'], /missing required argument 'type'/],
    [['run', 'x', '--tagg=y'], /unknown option '--tagg=…' \(Did you mean --tag\?\)/],
    [['run', 'x'], /Give --tag: agents with that tag/],
    [['run', 'x', '-t', 'y', 'oops'], /"oops" is not part of a payload/],
    [['run', 'x', '-t', 'y', '--timeout', '-1'], /Give seconds above 0/],
    [['run', 'x', '-t', 'y', '--timeout', '1e999'], /Give seconds above 0/],
    [['run', 'x', '-t', 'y', '--url', 'ftp://x'], /--url must be an http/],
    [['task', 'list', '--status', 'odd'], /Allowed choices are pending, running/],
    [['task', 'list', '--after', '2026-02-30'], /Give a time like 2026-11-22T18:30:00Z, or an age/],
    [['task', 'list', '--after', '2026-04-31T10:00:00+02:00'], /Give a time like/],
    [['task', 'get', 'x', '-o', 'xml'], /Allowed choices are table, json, jsonl/],
    [['events', 's', '-o', 'table'], /JSON lines only/],
    [['agent', 'exec', '-t', 'x', '--', 'no-such-program'], /The program "no-such-program" can't be run/],
    [['agent', 'exec', '-t', 'x', '--pull', '--listen', ':0', '--', 'true'], /cannot be used with/],
    [['agent', 'exec', '-t', 'x', '--endpoint', 'http://x', '--', 'true'], /give both/],
    [['completion', 'tcsh'], /Allowed choices are bash, zsh, fish/],
  ])('%j leads to exit code 2 and one line on standard error', async (words, text) => {
    const { code, stdout, stderr } = await runCommand(words);
    expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: '', stderr: expect.stringMatching(text) });
    if (words.length > 0) expect(stderr.trimEnd()).not.toContain('\n');
  });
});

test.each([
  ['127.0.0.1:9000', { host: '127.0.0.1', port: 9000 }],
  [':9000', { port: 9000 }],
  ['[::1]:0', { host: '::1', port: 0 }],
  ['host.example:80/tasks/in', { host: 'host.example', port: 80, path: '/tasks/in' }],
])('--listen %s is parsed', (text, listen) => {
  expect(parseListen(text)).toEqual(listen);
});

test.each(['9000', 'host', 'host:', 'host:70000', '::1:80', 'http://x:80'])(
  '--listen %s is refused',
  (text) => {
    expect(() => parseListen(text)).toThrow('give HOST:PORT');
  },
);

describe('suggestions', () => {
  const program = createProgram(createTestContext().context);
  const wordsFor = (...words: readonly string[]) => listSuggestions(program, words).map(({ word }) => word);

  test.each([
    [[''], ['run', 'task', 'match', 'events', 'overview', 'agent', 'config', 'doctor', 'completion']],
    [[], ['run', 'task', 'match', 'events', 'overview', 'agent', 'config', 'doctor', 'completion']],
    [['ta'], ['task']],
    [
      ['task', ''],
      ['submit', 'get', 'explain', 'wait', 'output', 'answer', 'cancel', 'list', 'failures'],
    ],
    [
      ['--url', 'task', 'agent', ''],
      ['list', 'show', 'drain', 'exec'],
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

  test('every option and command has an explanation', () => {
    for (const words of [
      ['-'],
      ['run', '--'],
      ['task', 'list', '--'],
      ['agent', 'exec', '--'],
      ['task', ''],
    ]) {
      for (const { word, meaning } of listSuggestions(program, words)) expect(meaning, word).not.toBe('');
    }
  });
});

describe('Ctrl-C', () => {
  function listen(options?: InterruptOptions) {
    const send: Partial<Record<NodeJS.Signals, () => void>> = {};
    const exits: number[] = [];
    const source = {
      on(signal: NodeJS.Signals, listener: () => void) {
        send[signal] = listener;
      },
    };
    return { send, exits, interrupts: createInterrupts(source, (exitCode) => exits.push(exitCode), options) };
  }

  test('first asks the command to stop, then exits', () => {
    const { send, exits, interrupts } = listen();
    expect(Object.keys(send), 'until then the system ends the process').toEqual(['SIGHUP']);
    expect(interrupts.first.aborted).toBe(false);
    send.SIGINT?.();
    expect([interrupts.first.aborted, interrupts.exitCode(), exits]).toEqual([true, 130, []]);
    send.SIGINT?.();
    expect(exits).toEqual([130]);
  });

  test('asks twice if the command handles the second one too', () => {
    const { send, exits, interrupts } = listen();
    interrupts.allowSecond();
    send.SIGTERM?.();
    expect([interrupts.second.aborted, interrupts.exitCode()]).toEqual([false, 143]);
    send.SIGINT?.();
    expect([interrupts.second.aborted, exits]).toEqual([true, []]);
    send.SIGINT?.();
    expect(exits).toEqual([130]);
  });

  test('and SIGHUP do the same if there is a terminal; without one, SIGHUP is ignored', () => {
    const { send, interrupts } = listen({ hasTerminal: true });
    expect(interrupts.first.aborted).toBe(false);
    send.SIGHUP?.();
    expect([interrupts.first.aborted, interrupts.exitCode()]).toEqual([true, 129]);
    const without = listen();
    without.send.SIGHUP?.();
    without.send.SIGHUP?.();
    expect([without.interrupts.first.aborted, without.exits]).toEqual([false, []]);
    expect(without.send.SIGHUP).toBeDefined();
  });

  test('and a reader of the output that goes away count as one, if the command needs the reader', () => {
    const { exits, interrupts } = listen();
    expect([interrupts.first.aborted, interrupts.loseReader(), interrupts.first.aborted]).toEqual([
      ...[false, false, false],
    ]);
    interrupts.needReader();
    expect([interrupts.loseReader(), interrupts.loseReader()]).toEqual([true, true]);
    expect([interrupts.first.aborted, interrupts.exitCode(), exits]).toEqual([true, 141, []]);
  });

  test('and the end of the shell that started it counts as one signal, however long the command goes on', () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    let parent = 1;
    const { exits, interrupts } = listen({ readParent: () => parent });
    expect(interrupts.first.aborted).toBe(false);
    parent = 2;
    vi.advanceTimersByTime(5_000);
    expect([interrupts.first.aborted, exits]).toEqual([true, []]);
  });
});
