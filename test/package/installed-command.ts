/**
 * The command `task-gateway` as it was installed: run on a Node of one's choice, and on one it believes to be
 * on.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { AUTH } from './programs.ts';

const run = promisify(execFile);
const CALL_MS = 30_000;

/** What the story of a command came to. */
export type CommandStory = {
  readonly doctor: string;
  /** What a task's program wrote. */
  readonly output: string;
  readonly agentExit: number | null;
};

/** Asks the doctor, and runs a task through a program that is an agent, all with the installed command. */
export async function tellStory(node: string, command: string, url: string): Promise<CommandStory> {
  const env = { PATH: process.env.PATH, TASK_GATEWAY_URL: url, TASK_GATEWAY_AUTH: AUTH };
  const call = (...words: readonly string[]) => run(node, [command, ...words], { env, timeout: CALL_MS });
  const { stdout: doctor } = await call('doctor');
  const tag = `command on ${node}`;
  const exec = [command, 'agent', 'exec', '--tag', tag, '--', 'cat'];
  const agent = spawn(node, exec, { env, stdio: 'ignore' });
  const ended = once(agent, 'exit');
  try {
    const { stdout: output } = await call('run', 'echo', 'text=你好', '--tag', tag, '--queue-timeout', '20');
    return { doctor, output, agentExit: await stop() };
  } finally {
    await stop();
  }

  async function stop(): Promise<number | null> {
    agent.kill('SIGTERM');
    const [code] = await ended;
    return code;
  }
}

/** What the command says and exits with when it believes to be on a Node of that version. */
export async function askVersion(command: string, version: string): Promise<{ code: number; said: string }> {
  const pretend = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } });`;
  const preload = ['--import', `data:text/javascript,${encodeURIComponent(pretend)}`];
  const answer = await run(process.execPath, [...preload, command, '--version']).catch((error) => error);
  return { code: answer.code ?? 0, said: answer.stderr };
}
