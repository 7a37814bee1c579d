/** What a person sees: the spinner, Ctrl-C, colours, and columns of wide characters, in a real terminal. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type Agent, createAgent } from '../../sdk/agent/index.ts';
import { measureWidth } from '../../sdk/cli/terminal/width.ts';
import { createClient, type TaskGatewayClient } from '../../sdk/client.ts';
import { ADMIN_SECRET, type GatewayProcess, SECRET, startGateway } from '../harness/gateway-process.ts';
import { envFor, writeLauncher } from './cli-process.ts';
import { isAlive } from './is-running.ts';
import { hasTerminal, openTerminal, type Terminal } from './terminal.ts';

const hasOne = hasTerminal();
if (!hasOne) console.warn('NO TMUX ON THIS MACHINE: nothing was tried in a real terminal');

let gateway: GatewayProcess;
let client: TaskGatewayClient;
let agent: Agent;
let folder: string;
let terminal: Terminal | undefined;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'task-gateway-terminal-'));
  writeLauncher(folder);
  gateway = await startGateway();
  const reach = { baseUrl: gateway.baseUrl, auth: SECRET };
  client = createClient({ ...reach, adminAuth: ADMIN_SECRET });
  agent = createAgent({
    ...{ ...reach, agentId: '执行者', tags: ['w'], maxConcurrent: 10 },
    handler({ task_type }, { signal, progress }) {
      if (task_type === 'evil') return 'one\u001b]0;title\u0007\u001b[31m two';
      progress(42);
      return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    },
  });
  await agent.start();
});

afterEach(() => {
  terminal?.close();
  terminal = undefined;
});

afterAll(async () => {
  await agent?.stop({ drainMs: 0 });
  await gateway?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Opens a terminal in which the command is found, and types a line. */
async function type(line: string, env: Readonly<Record<string, string>> = {}): Promise<Terminal> {
  const path = `${folder}:${process.env.PATH}`;
  terminal = openTerminal({ PATH: path, HOME: folder, ...envFor(gateway), ...env });
  await terminal.shows(/^ready>/m);
  terminal.press(line);
  terminal.press('Enter');
  return terminal;
}

describe.runIf(hasOne)('in a terminal', () => {
  test('a run spins with its progress; Ctrl-C cancels it and leaves a clean line', async () => {
    const { shows, press } = await type('task-gateway run hang -t w; echo "exit=$?"');
    await shows(/^[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] running on 执行者 42 % \d+ s$/m);
    press('C-c');
    const screen = await shows(/exit=130\nready>/);
    expect(screen).toMatch(/^task-gateway: Cancelled task \S+\.$/m);
    expect(screen).not.toMatch(/running on/);
  });

  test('Ctrl-C twice leaves at once, also when the gateway says nothing', async () => {
    const { shows, press } = await type('task-gateway run hang -t w; echo "exit=$?"');
    await shows(/42 %/);
    process.kill(gateway.pid, 'SIGSTOP');
    try {
      press('C-c');
      await shows(/cancelling/);
      press('C-c');
      await shows(/exit=130\nready>/);
    } finally {
      process.kill(gateway.pid, 'SIGCONT');
    }
    for (const { request_id } of (await client.listTasks({ status: 'running' })).tasks) {
      await client.cancelTask(request_id).catch(() => undefined);
    }
  });

  test('states are coloured, and not with NO_COLOR; without UTF-8 the spinner is ASCII', async () => {
    const coloured = await type('task-gateway agent list; echo "exit=$?"');
    const screen = await coloured.shows(/exit=0/, true);
    expect(screen).toContain('\u001b[32mready');
    coloured.close();
    const plain = await type('task-gateway agent list; task-gateway run hang -t w', {
      NO_COLOR: '1',
      LANG: 'C',
    });
    const bare = await plain.shows(/[-|/\\] running on .* 42 %/, true);
    expect(bare).not.toContain('\u001b[');
    plain.press('C-c');
    await plain.shows(/Cancelled/);
  });

  test('columns of wide characters stand below each other, and long ones are cut at the edge', async () => {
    const kinds = ['plain', '世界', 'ﾊﾝｶｸ', '한국어', '长'.repeat(60)];
    for (const task_type of kinds) await client.submitTask({ task_type, task_tags: ['标签'], payload: {} });
    const { shows } = await type(`clear; task-gateway task list --tag 标签; echo "exit=$?"`);
    const lines = (await shows(/exit=0/)).split('\n').filter((line) => /failed/.test(line));
    expect(lines).toHaveLength(kinds.length);
    // tmux puts each character where a terminal shows it: all on one line each, the tags in one column.
    const columns = lines.map((line) => measureWidth(line.slice(0, line.indexOf('标'))));
    expect(new Set(columns).size).toBe(1);
    expect(lines[0]).toContain('长…');
    for (const line of lines) expect(measureWidth(line)).toBeLessThanOrEqual(100);
  });

  test('what an agent wrote can’t paint the screen or set its title', async () => {
    const { shows } = await type('task-gateway run evil -t w; echo "exit=$?"');
    const screen = await shows(/exit=0/, true);
    expect(screen).toMatch(/^one\]0;title\[31m two$/m);
    expect(screen).not.toContain('\u001b[31m');
  });

  test('a payload is asked for when it is to be typed', async () => {
    const { shows, press } = await type('task-gateway task submit x - -t nobody; echo "exit=$?"');
    await shows(/end it with Ctrl-D/);
    press('{"a":');
    press('C-c');
    await shows(/Interrupted\.\nexit=130/);
  });

  test('closing it ends an agent with the program it runs', async () => {
    const words = 'agent exec -t closed --drain 0 --kill-after 0.3 --';
    const { shows, close } = await type(`task-gateway ${words} sh -c 'echo "pid=$$" >&2; sleep 1000'`);
    await shows(/Registered/);
    const { request_id } = await client.submitTask({ task_type: 'x', task_tags: ['closed'], payload: {} });
    const [, pid] = /pid=(\d+)$/m.exec(await shows(/pid=\d+$/m)) ?? [];
    close();
    await expect.poll(() => isAlive(Number(pid)), { timeout: 15_000 }).toBe(false);
    await expect
      .poll(async () => (await client.getTask(request_id)).error_info, { timeout: 15_000 })
      .toBe('the agent was stopped before the task was done');
  });
});
