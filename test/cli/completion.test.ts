/** The completion scripts, loaded into real shells. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { writeLauncher } from './cli-process.ts';
import { runCommand } from './command-run.ts';

const shells = ['bash', 'zsh', 'fish'] as const;
let folder: string;
let env: Record<string, string>;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'task-gateway-completion-'));
  writeLauncher(folder);
  env = { PATH: `${folder}:${process.env.PATH}`, LANG: 'C.UTF-8', HOME: folder };
  for (const shell of shells) {
    const { code, stdout, stderr } = await runCommand(['completion', shell]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    writeFileSync(join(folder, `script.${shell}`), stdout);
  }
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Calls the completion function as bash does, and returns what it offers. */
function completeInBash(...words: readonly string[]): readonly string[] {
  const quoted = words.map((word) => `'${word}'`).join(' ');
  const script = `. "${folder}/script.bash"
    complete -p task-gateway >&2
    COMP_WORDS=(task-gateway ${quoted}); COMP_CWORD=${words.length}
    _task_gateway
    printf '%s\\n' "\${COMPREPLY[@]}"`;
  const text = execFileSync('bash', ['--norc', '-euc', script], {
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return text.trim().split('\n');
}

describe('bash', () => {
  test('completes commands, options and their values', () => {
    expect(completeInBash('task', '')).toEqual([
      ...['submit', 'get', 'explain', 'wait', 'output', 'answer', 'cancel', 'list', 'failures'],
    ]);
    expect(completeInBash('run', 'x', '--queue')).toEqual(['--queue-timeout']);
    expect(completeInBash('task', 'list', '--status', 'r')).toEqual(['running']);
  });

  test('offers files where any value is possible', () => {
    expect(completeInBash('--auth-file', '')).toEqual(['']);
    const text = execFileSync(
      'bash',
      ['--norc', '-c', `. "${folder}/script.bash"; complete -p task-gateway`],
      { env },
    );
    expect(text.toString()).toBe('complete -o default -F _task_gateway task-gateway\n');
  });
});

describe('zsh and fish', () => {
  test('zsh loads the script, and its function finds what may follow', { tags: 'zsh' }, () => {
    const script = `autoload -U compinit && compinit -u -d ${folder}/dump
      . ${folder}/script.zsh
      _describe() { print -l -- "\${(@P)2}" }
      _files() { print FILES }
      words=(task-gateway task list --status r) CURRENT=5 _task_gateway
      words=(task-gateway task '') CURRENT=3 _task_gateway
      words=(task-gateway --auth-file '') CURRENT=3 _task_gateway
      print -- $_comps[task-gateway]`;
    const text = execFileSync('zsh', ['-f', '-c', script], { env, encoding: 'utf8' });
    expect(text).toMatch(/^running:\nsubmit:submit a task[\s\S]*\nFILES\n_task_gateway\n$/);
  });

  test('fish completes with the script', { tags: 'fish' }, () => {
    const script = `source ${folder}/script.fish
      complete -C 'task-gateway task '
      complete -C 'task-gateway task list --status r'`;
    const text = execFileSync('fish', ['--no-config', '-c', script], { env, encoding: 'utf8' });
    const words = text
      .trim()
      .split('\n')
      .map((line) => line.split('\t')[0]);
    expect(words.toSorted()).toEqual([
      ...['answer', 'cancel', 'explain', 'failures', 'get', 'list', 'output', 'running', 'submit', 'wait'],
    ]);
  });
});
