/**
 * What is left running when `agent exec` ends: nothing, by whichever signal, or lack of memory, and wherever
 * its output goes.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createClient, type TaskGatewayClient } from '../../sdk/client.ts';
import { type GatewayProcess, SECRET, startGateway } from '../harness/gateway-process.ts';
import { envFor, isRunning, writeLauncher } from './cli-process.ts';
import { openTerminal } from './tmux-terminal.ts';

type Where = 'terminal' | 'redirected' | 'nohup';

let gateway: GatewayProcess;
let client: TaskGatewayClient;
let folder: string;
let count = 0;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'task-gateway-signals-'));
  writeLauncher(folder);
  gateway = await startGateway();
  client = createClient({ baseUrl: gateway.baseUrl, auth: SECRET });
});

afterAll(async () => {
  await gateway?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Both processes of the program ignore what can be ignored. */
const PROGRAM = 'trap "" HUP INT TERM QUIT; sleep 1000 & echo "pids $$ $! $PPID" >$PIDS; wait';

type StartOptions = { readonly program?: string; readonly env?: Readonly<Record<string, string>> };

/** Starts an agent with a running program. Returns the agent's process, and those of the program. */
async function startAgent(where: Where, { program = PROGRAM, env = {} }: StartOptions = {}) {
  count += 1;
  const tag = `tag-${count}`;
  const path = join(folder, tag);
  writeFileSync(`${path}.sh`, program);
  const command = `task-gateway agent exec -t ${tag} --drain 0 --kill-after 0.2 -- sh ${path}.sh`;
  const variables = {
    PATH: `${folder}:${process.env.PATH}`,
    HOME: folder,
    PIDS: path,
    ...envFor(gateway),
    ...env,
  };
  const close = startShell(where, command, variables);
  await client.submitTask({ task_type: 'x', task_tags: [tag], payload: {}, timeout: 60, queue_timeout: 60 });
  const pids = await vi.waitFor(
    () => {
      const [, ...found] = /^pids (\d+) (\d+) (\d+)\n/.exec(readFileSync(path, 'utf8')) ?? [];
      expect(found).toHaveLength(3);
      return found.map(Number);
    },
    { timeout: 60_000, interval: 50 },
  );
  const [own = 0, child = 0, agent = 0] = pids;
  return { agent, own, child, programs: [own, child], close };
}

/** Runs a command line where it belongs; returns how to end what is left of its terminal or shell. */
function startShell(where: Where, command: string, env: Record<string, string>): () => void {
  if (where === 'nohup') {
    const shell = spawn('sh', ['-c', `exec nohup ${command} >/dev/null 2>&1`], { env, stdio: 'ignore' });
    return () => void shell.kill('SIGKILL');
  }
  const { press, close } = openTerminal(env);
  press(where === 'redirected' ? `${command} 2>$PIDS.log` : command);
  press('Enter');
  return close;
}

async function waitForNone(pids: readonly number[]): Promise<void> {
  expect(pids.length).toBeGreaterThan(0);
  expect(pids.every((pid) => pid > 1)).toBe(true);
  await vi.waitFor(() => expect(pids.filter(isRunning)).toEqual([]), { timeout: 60_000, interval: 50 });
}

const SIGNALS: readonly NodeJS.Signals[] = [
  ...(['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR2', 'SIGALRM', 'SIGABRT', 'SIGKILL'] as const),
];
const PLACES = [
  ['terminal', ['tmux']],
  ['redirected', ['tmux']],
  ['nohup', []],
] as const;
/** Under `nohup` there is no terminal, and SIGHUP is ignored. */
const survives = (where: Where, signal: NodeJS.Signals): boolean => signal === 'SIGHUP' && where === 'nohup';

for (const [where, tags] of PLACES) {
  test(`${where}: no signal ends the agent without its programs`, {
    tags: [...tags],
    timeout: 300_000,
  }, async () => {
    const agents = await Promise.all(
      SIGNALS.map(async (signal) => ({ signal, ...(await startAgent(where)) })),
    );
    try {
      for (const { signal, agent, programs } of agents) {
        expect([agent, ...programs].filter(isRunning), signal).toHaveLength(3);
        process.kill(agent, signal);
      }
      for (const { signal, agent, programs } of agents) {
        if (!survives(where, signal)) await waitForNone([agent, ...programs]);
        else {
          expect([agent, ...programs].filter(isRunning), signal).toHaveLength(3);
          process.kill(agent, 'SIGTERM');
          await waitForNone([agent, ...programs]);
        }
      }
    } finally {
      for (const { close } of agents) close();
    }
  });
}

test('killed between the start of a program and the word of it, the agent leaves no program', async () => {
  const watch = new URL('../../sdk/cli/child/group-watch.ts', import.meta.url).href;
  const pids = join(folder, 'unsaid');
  const program = `import { spawn } from 'node:child_process';
    import { startGroupWatch } from '${watch}';
    const entry = 'TASK_REQUEST_ID=unsaid-' + process.pid;
    await startGroupWatch(200, console.error).expect(entry);
    const script = 'trap "" TERM; sleep 1000 & echo "$$ $!" >$PIDS; wait';
    const env = { PATH: process.env.PATH, PIDS: '${pids}', TASK_REQUEST_ID: 'unsaid-' + process.pid };
    spawn('sh', ['-c', script], { detached: true, stdio: 'ignore', env });
    process.kill(process.pid, 'SIGKILL');`;
  const agent = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: 'inherit' });
  const found = await vi.waitFor(
    () => {
      const all = readFileSync(pids, 'utf8').trim().split(' ').map(Number);
      expect(all).toHaveLength(2);
      return all;
    },
    { timeout: 60_000, interval: 50 },
  );
  await waitForNone([agent.pid ?? 0, ...found]);
});

test('a program that kills its agent with its first step does not survive it', async () => {
  const program = `kill -KILL "$PPID"; ${PROGRAM}`;
  const { agent, programs, close } = await startAgent('nohup', { program });
  await waitForNone([agent, ...programs]);
  close();
});

test('out of memory: the agent ends, and its programs with it', async () => {
  // At SIGWINCH the agent takes more memory than it may have.
  const take = encodeURIComponent(
    'process.on("SIGWINCH",()=>{const a=[];for(;;)a.push(new Array(1e5).fill(a.length))})',
  );
  const env = { NODE_OPTIONS: `--max-old-space-size=64 --import=data:text/javascript,${take}` };
  const { agent, programs, close } = await startAgent('nohup', { env });
  process.kill(agent, 'SIGWINCH');
  await waitForNone([agent, ...programs]);
  close();
});

test('a process that leaves for a session of its own stays, as the page says', async () => {
  // The process says its own id, when it is in its session.
  const leave = `setsid sh -c 'echo "pids $0 $$ $1" >$PIDS; exec sleep 600'`;
  // It has its whole input only when the agent's watch knows its process group.
  const program = `cat >/dev/null; ${leave} $$ $PPID & wait`;
  const { agent, own, child, close } = await startAgent('nohup', { program });
  try {
    process.kill(agent, 'SIGKILL');
    await waitForNone([agent, own]);
    expect(isRunning(child)).toBe(true);
  } finally {
    process.kill(child, 'SIGKILL');
    close();
  }
});
