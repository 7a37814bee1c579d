/**
 * The output of tasks on the command line, with a real gateway: `run --stream`, `task output`, and
 * `agent exec --stream`, whose programs are held back rather than cut.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { startTcpProxy, type TcpProxy } from '../harness/tcp-proxy.ts';
import { parseLines, type RunningCommand, startCommand } from './command-run.ts';
import { client, env, folder, gateway, run, useAgent, useGateway } from './gateway-fixture.ts';

useGateway();

let proxy: TcpProxy;
/** Lets the task of the type `held` go on. */
let release: () => void = () => undefined;

beforeAll(async () => {
  proxy = await startTcpProxy(Number(new URL(gateway.baseUrl).port));
});
afterAll(() => proxy?.close());

useAgent({
  agentId: '作者',
  tags: ['write'],
  async handler({ task_type, payload }, { write }) {
    await write('第 1 页\n');
    await write({ page: 1, title: '<b>\u009b' });
    await write('half a line');
    if (task_type === 'held') await new Promise<void>((resolve) => (release = resolve));
    if (task_type === 'fail') throw new Error('the disk is full');
    return { output: `the result of ${payload.name}` };
  },
});

async function submit(task_type = 'write'): Promise<string> {
  return (await client.submitTask({ task_type, task_tags: ['write'], payload: { name: 'it' } })).request_id;
}

const TEXT = '第 1 页\n{"page":1,"title":"<b>\\u009b"}\nhalf a line';

describe('run --stream', () => {
  test('prints what the agent writes, as it is, and not the result', async () => {
    expect(await run('run write -t write --stream')).toEqual({
      code: 0,
      stdout: TEXT,
      stderr: '',
    });
  });

  test('prints each piece as a line of JSON, and the end', async () => {
    const { code, stdout } = await run('run write -t write --stream -o json');
    expect(code).toBe(0);
    expect(parseLines(stdout)).toEqual([
      { n: 1, text: '第 1 页\n' },
      { n: 2, data: { page: 1, title: '<b>\u009b' } },
      { n: 3, text: 'half a line' },
      { n: 4, end: true, status: 'success', outcome: 'success', missing: null },
    ]);
  });

  test('finds the task of an earlier process by its key, which need not have been given to that one', async () => {
    const words = ['run', 'write', '-t', 'write', '-o', 'json'];
    const ids: string[] = [];
    for (let times = 0; times < 2; times += 1) {
      const { code, stdout } = await run([...words, '--idempotency-key', 'k1']);
      expect(code).toBe(0);
      ids.push(JSON.parse(stdout).request_id);
    }
    expect(ids[1]).toBe(ids[0]);
    // A key that the command has made itself goes with no session either: the same words find its task.
    expect(JSON.parse((await run(words)).stdout)).toMatchObject({ cli_session_id: '' });
  });

  test('prints while the task runs; a task that fails has the exit code and the reason of any', async () => {
    const held = startCommand('run held -t write --stream', { env });
    await vi.waitFor(() => expect(held.stdout()).toBe(TEXT), 15_000);
    release();
    expect(await held.waitForExit()).toMatchObject({ code: 0, stdout: TEXT });
    const failed = await run('run fail -t write --stream');
    expect(failed).toMatchObject({ code: 5, stdout: TEXT });
    expect(failed.stderr).toContain('the disk is full');
  });

  test('Ctrl-C cancels the task', async () => {
    const held = startCommand('run held -t write --stream', { env });
    await vi.waitFor(() => expect(held.stdout()).toBe(TEXT), 15_000);
    held.signal('SIGINT');
    expect(await held.waitForExit()).toMatchObject({ code: 130 });
  });
});

describe('task output', () => {
  test('prints what there is and ends; with -f goes on until the task has ended', async () => {
    const id = await submit('held');
    await vi.waitFor(async () => expect((await run(`task output ${id}`)).stdout).toBe(TEXT), 15_000);
    const following = startCommand(`task output ${id} -f`, { env });
    await vi.waitFor(() => expect(following.stdout()).toBe(TEXT), 15_000);
    release();
    expect(await following.waitForExit()).toEqual({ code: 0, stdout: TEXT, stderr: '' });
    expect((await run(`task output ${id} --after 2`)).stdout).toBe('half a line');
    expect((await run(`task output ${id} --after 3 -o jsonl`)).stdout).toBe(
      '{"n":4,"end":true,"status":"success","outcome":"success","missing":null}\n',
    );
  });

  test('exits with 0 also for a task that failed, with 7 for one that is unknown', async () => {
    const id = await submit('fail');
    expect(await run(`task output ${id} -f`)).toMatchObject({ code: 0, stdout: TEXT });
    expect(await run('task output unknown -f')).toMatchObject({ code: 7, stdout: '' });
    expect(await run('task output unknown')).toMatchObject({ code: 7, stdout: '' });
    expect(await run(`task output ${id} --after x`)).toMatchObject({ code: 2, stdout: '' });
  });

  test('after Ctrl-C says where to continue', async () => {
    const id = await submit('held');
    const following = startCommand(`task output ${id} -f`, { env });
    await vi.waitFor(() => expect(following.stdout()).toBe(TEXT), 15_000);
    following.signal('SIGINT');
    const { code, stderr } = await following.waitForExit();
    expect([code, stderr]).toEqual([130, expect.stringContaining('Continue with --after 3')]);
    release();
  });

  test('says where an agent began anew', async () => {
    const { request_id } = await client.submitTask({
      task_type: 't',
      task_tags: ['twice'],
      payload: {},
      queue_timeout: 60,
    });
    await client.registerAgent({
      agent_id: 'gpu-1',
      agent_tags: ['twice'],
      endpoint: 'pull',
      max_concurrent: 1,
    });
    await client.claimTask({ agent_id: 'gpu-1', wait: 10 });
    const write = { agent_id: 'gpu-1', request_id, from: 0 };
    await client.writeOutput({ ...write, writer: 'one', pieces: [{ text: 'in vain' }] });
    await client.writeOutput({ ...write, writer: 'two', pieces: [{ text: 'anew\n' }] });
    const { stdout, stderr } = await run(`task output ${request_id}`);
    expect(stdout).toBe('in vainanew\n');
    expect(stderr).toBe('gpu-1 begins anew: what was printed before this line is void.\n');
    await client.cancelTask(request_id);
  });
});

describe('agent exec --stream', () => {
  /** A step of a script that ends when the test has written the file. */
  const waitForFile = (file: string): string => `until [ -e '${file}' ]; do sleep 0.02; done`;

  /** Starts an agent whose gateway is behind the proxy. */
  async function startExec(
    tag: string,
    script: string,
    ...options: readonly string[]
  ): Promise<RunningCommand> {
    const words = [
      'agent',
      'exec',
      '--id',
      tag,
      '--tag',
      tag,
      '--stream',
      ...options,
      '--',
      'sh',
      '-c',
      script,
    ];
    const exec = startCommand(words, { env: { ...env, TASK_GATEWAY_URL: `http://127.0.0.1:${proxy.port}` } });
    await exec.waitForLog('Registered');
    return exec;
  }

  test('standard output becomes pieces while the program runs; the result is the same', async () => {
    const go = join(folder, 'read');
    const exec = await startExec(
      'exec',
      `echo 一; echo "::progress 40::"; ${waitForFile(go)}; printf "二"; echo no >&2`,
    );
    const texts: string[] = [];
    const { result, progress } = await client.runTask(
      { task_type: 't', task_tags: ['exec'], payload: {} },
      {
        onOutput({ text }) {
          if (text !== undefined) texts.push(text);
          writeFileSync(go, '');
        },
      },
    );
    expect(texts).toEqual(['一\n', '二']);
    expect([result, progress]).toEqual([{ output: '一\n二' }, 100]);
    exec.signal('SIGINT');
    expect(await exec.waitForExit()).toMatchObject({ code: 0 });
  });

  test('a program that writes while no gateway responds is held back, and nothing of it is cut', async () => {
    const bytes = 3_000_000;
    const write = (count: number) => `head -c ${count} /dev/zero | tr '\\0' x`;
    const script = `${write(500_000)}; echo has written a part >&2; ${write(bytes - 500_000)}; echo all >&2`;
    const go = join(folder, 'refused');
    const exec = await startExec('held-back', `${waitForFile(go)}; ${script}`, '--output-max', '1000');
    const { request_id } = await client.submitTask({
      task_type: 't',
      task_tags: ['held-back'],
      payload: {},
      queue_timeout: 10,
    });
    await exec.waitForLog('taken');
    await proxy.setFault('reset');
    writeFileSync(go, '');
    await exec.waitForLog('has written a part');
    const before = proxy.connections();
    await expect.poll(() => proxy.connections(), { timeout: 60_000 }).toBeGreaterThan(before + 5);
    // The agent has tried again and again, and the program still writes: the pipe is not read while 1 MiB is
    // unsent.
    expect(exec.stderr()).not.toMatch(/ all$/m);
    await proxy.setFault(null);
    let read = 0;
    for await (const { text } of client.readOutput(request_id)) read += text?.length ?? 0;
    expect(read).toBe(bytes);
    const { result } = await client.getTask(request_id);
    const output = expect.stringMatching(/^x{500}\n\[… left out …\]\nx{500}$/);
    expect(result).toMatchObject({ output, truncated: true });
    exec.signal('SIGINT');
    expect(await exec.waitForExit()).toMatchObject({ code: 0 });
  });
});
