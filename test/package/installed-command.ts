/** The installed command `task-gateway`, run on a Node of choice, or on one whose version is faked. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { AUTH } from './programs.ts';

const run = promisify(execFile);
const CALL_MS = 30_000;

/** What the commands printed and returned. */
export type CommandResult = {
  readonly doctor: string;
  /** The output of the task's program. */
  readonly output: string;
  readonly agentExit: number | null;
};

/** Runs the doctor, and a task with a program as its agent, all with the installed command. */
export async function runCommands(node: string, command: string, url: string): Promise<CommandResult> {
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

/** What the command prints and exits with where Node's version is faked as this one. */
export async function runOnVersion(
  command: string,
  version: string,
): Promise<{ code: number; printed: string }> {
  const pretend = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } });`;
  const preload = ['--import', `data:text/javascript,${encodeURIComponent(pretend)}`];
  const result = await run(process.execPath, [...preload, command, '--version']).catch((error) => error);
  return { code: result.code ?? 0, printed: result.stderr };
}
