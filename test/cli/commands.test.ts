/**
 * Every command against a real gateway: what it prints, and its exit code. Those that get a signal or lose
 * their reader are processes.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createAgent } from '../../sdk/agent/index.ts';
import { SECRET } from '../harness/gateway-process.ts';
import { startProcess } from './cli-process.ts';
import { parseLines, startCommand } from './command-run.ts';
import { client, env, folder, gateway, run, useAgent, useGateway } from './gateway-fixture.ts';

useGateway();

useAgent({
  agentId: '执行者',
  tags: ['echo'],
  handler: ({ payload, task_type }, { signal }) => {
    if (task_type === 'fail') throw new Error('the disk\nis full');
    if (task_type === 'hang') {
      return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    }
    if (task_type === 'parts') return { reply: 'first', output: 'last', parts: [1] };
    return { output: JSON.stringify(payload) };
  },
});

/** Submits a task that runs until it is cancelled. */
async function submitHangingTask(): Promise<string> {
  const { request_id } = await client.submitTask({ task_type: 'hang', task_tags: ['echo'], payload: {} });
  return request_id;
}

describe('run', () => {
  test('prints the agent’s output, with a payload from pairs, a file and standard input', async () => {
    writeFileSync(join(folder, '文件.json'), '\ufeff{"file":"文件","n":1}');
    const words = ['run', 'echo', 'n:=2', `@${folder}/文件.json`, '-', 'text=两 行', '--tag', 'echo'];
    const { code, stdout, stderr } = await run(words, { input: '\ufeff{"stdin":true}' });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(stdout)).toEqual({ file: '文件', n: 2, stdin: true, text: '两 行' });
  });

  test('submits what the options describe', async () => {
    const options = [
      ...['--session', '会话', '--timeout', '12.5', '--queue-timeout', '0', '--idempotency-key', 'k1'],
    ];
    const words = ['run', 'echo', '-t', 'echo', '-t', 'other', ...options, '-o', 'jsonl'];
    const first = await run(words);
    expect(first.stdout.trimEnd()).not.toContain('\n');
    const task = JSON.parse(first.stdout);
    expect(task).toMatchObject({ cli_session_id: '会话', timeout: 12.5, task_tags: ['echo', 'other'] });
    expect(task).toMatchObject({ status: 'success', progress: 100, agent_id: '执行者', payload: {} });
    const again = await run(words);
    expect(JSON.parse(again.stdout).request_id).toBe(task.request_id);
  });

  test('prints a result with more than text as JSON', async () => {
    const { stdout } = await run('run parts -t echo');
    expect(JSON.parse(stdout)).toEqual({ reply: 'first', output: 'last', parts: [1] });
  });

  test('a task that failed leads to exit code 5 and prints its reason', async () => {
    const { code, stdout, stderr } = await run('run fail -t echo');
    expect({ code, stdout }).toEqual({ code: 5, stdout: '' });
    expect(stderr).toMatch(/^task-gateway: Task \S+ failed: the disk\n {2}is full\n$/);
  });

  test('a task without an available agent leads to exit code 6, and -o json prints the task too', async () => {
    const options = ['--queue-timeout', '0', '-o', 'json'];
    const { code, stdout, stderr } = await run(['run', 'x', '-t', 'no-agent', ...options]);
    expect(code).toBe(6);
    expect(JSON.parse(stdout)).toMatchObject({ status: 'failed', error_info: '无可用 Agent' });
    expect(stderr).toMatch(
      /^task-gateway: Task \S+ failed: 无可用 Agent \(no agent available\)\.\n {2}No agent has the tag `no-agent`.*\n$/,
    );
  });

  test('a task waits for an agent by default: 30 s, and never longer than its own time', async () => {
    const session = 'waiting by default';
    const options = ['-t', 'late', '-s', session, '-o', 'json'];
    const waiting = startCommand(['run', 'echo', ...options], { env });
    const short = await run(['run', 'echo', ...options, '--timeout', '0.3']);
    expect(short.code).toBeGreaterThanOrEqual(5);
    await expect
      .poll(async () => (await client.listTasks({ session, status: ['pending'] })).tasks.length, {
        timeout: 60_000,
      })
      .toBe(1);
    const late = createAgent({
      baseUrl: gateway.baseUrl,
      auth: SECRET,
      agentId: 'late',
      tags: ['late'],
      handler: () => 'at last',
    });
    await late.start();
    expect(JSON.parse((await waiting.waitForExit()).stdout)).toMatchObject({ result: { output: 'at last' } });
    await late.stop({ drainMs: 0 });
  });

  test('a wait that times out leads to exit code 3, and the task continues', async () => {
    const { code, stderr } = await run('run hang -t echo --wait 2');
    expect(code).toBe(3);
    const [, request_id = ''] = /task wait (\S+)"/.exec(stderr) ?? [];
    // On a busy machine its agent may not have it yet.
    await expect.poll(() => client.getTask(request_id)).toMatchObject({ status: 'running' });
    await client.cancelTask(request_id);
  });

  test('Ctrl-C cancels the task and says so, with exit code 130; SIGTERM does the same, with 143', async () => {
    const signals = [['SIGINT', 130] as const, ['SIGTERM', 143] as const];
    await Promise.all(
      signals.map(async ([signal, exitCode]) => {
        const session = `stopped by ${signal}`;
        // A wait of more than 24.8 days, the longest of one timer, does not end at once.
        const words = ['run', 'hang', '-t', 'echo', '-s', session, '--wait', '2592000'];
        const running = startProcess(words, { env });
        const task = await waitForRunningTask(session);
        running.child.kill(signal);
        const { code, stdout, stderr } = await running.waitForExit();
        expect({ code, stdout, stderr }).toEqual({
          code: exitCode,
          stdout: '',
          stderr: `task-gateway: Cancelled task ${task}.\n`,
        });
        expect(await client.getTask(task)).toMatchObject({ error_info: 'cancelled by user' });
      }),
    );
  });
});

/** Returns the id of the session's task once an agent runs it. */
async function waitForRunningTask(session: string): Promise<string> {
  return expect
    .poll(async () => (await client.listTasks({ session, status: ['running'] })).tasks[0]?.request_id, {
      timeout: 60_000,
    })
    .toBeTruthy()
    .then(async () => (await client.listTasks({ session })).tasks[0]?.request_id ?? '');
}

describe('task', () => {
  test('submit prints the id, wait prints the result, and get shows the task', async () => {
    const submitted = await run('task submit echo a=世界 -t echo');
    const id = submitted.stdout.trim();
    expect(submitted).toMatchObject({ code: 0, stderr: '' });
    const [waited, got] = await Promise.all([run(`task wait ${id}`), run(`task get ${id} -o json`)]);
    expect(waited).toMatchObject({ code: 0, stdout: '{"a":"世界"}\n' });
    expect(JSON.parse(got.stdout)).toMatchObject({ request_id: id, payload: { a: '世界' } });
    const table = await run(`task get ${id}`);
    expect(table.stdout).toMatch(/^request_id {6}\S+\nstatus {10}success\n[\s\S]*agent_id {8}执行者\n/);
  });

  test('cancel works once; wait then leads to exit code 5', async () => {
    const id = await submitHangingTask();
    expect(await run(`task cancel ${id}`)).toMatchObject({ code: 0, stdout: `Cancelled task ${id}.\n` });
    const [again, waited] = await Promise.all([run(`task cancel ${id}`), run(`task wait ${id}`)]);
    expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining("can't be cancelled") });
    expect(waited).toMatchObject({ code: 5, stderr: expect.stringContaining('cancelled by user') });
  });

  test('wait --for leads to exit code 3 after that time, at once for 0', async () => {
    const id = await submitHangingTask();
    const [short, none] = await Promise.all([
      run(`task wait ${id} --for 0.3`),
      run(`task wait ${id} --for 0`),
    ]);
    for (const { code, stdout } of [short, none]) expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
    expect(short.stderr).toMatch(/after 0\.3 s/);
    await client.cancelTask(id);
  });

  test('an unknown task leads to exit code 7 for get, wait and cancel', async () => {
    const all = await Promise.all(
      ['get', 'wait', 'cancel'].map((verb) => run(['task', verb, 'no-such-task'])),
    );
    for (const { code, stderr } of all) {
      expect(code).toBe(7);
      expect(stderr).toMatch(/^task-gateway: 404 .*Check the id and --url\.\n$/);
    }
  });

  test('list prints filtered tasks, newest first, over several pages', async () => {
    const session = 'many';
    const submission = { task_type: '很多', task_tags: ['no-agent'], payload: {}, cli_session_id: session };
    const tasks: { readonly request_id: string }[] = [];
    while (tasks.length < 120)
      tasks.push(...(await Promise.all(Array.from({ length: 30 }, () => client.submitTask(submission)))));
    const [lines, json, table, none] = await Promise.all([
      run(`task list --session ${session} -n 110 -o jsonl`),
      run(`task list --session ${session} --type 很多 --status failed -n 3 -o json`.split(' ')),
      run('task list --tag no-agent -n 2'),
      run('task list --agent no-such-agent'),
    ]);
    const ids = parseLines(lines.stdout).map(({ request_id }) => request_id);
    expect(new Set(ids).size).toBe(110);
    expect(tasks.map(({ request_id }) => request_id)).toEqual(expect.arrayContaining(ids));
    expect(JSON.parse(json.stdout)).toHaveLength(3);
    const [head = '', first = ''] = table.stdout.split('\n');
    expect(head).toMatch(/^REQUEST ID +STATUS +% +TYPE +TAGS +AGENT +CREATED +ERROR$/);
    expect(first).toMatch(/^\S{36} {2}failed {2}0 {2}很多 {2}no-agent {2}– {6}\S+Z {2}无可用 Agent$/);
    expect(none).toEqual({ code: 0, stdout: '', stderr: 'No task matches.\n' });
  });
});

describe('events', () => {
  test('prints stored and new events, and continues after a cursor', async () => {
    const submission = { task_type: 'echo', task_tags: ['echo'], payload: { n: '一' }, cli_session_id: '流' };
    const first = await client.runTask(submission);
    const following = startCommand('events 流 --count 2', { env });
    await expect.poll(() => following.stdout(), { timeout: 60_000 }).toContain('\n');
    const second = await client.runTask(submission);
    const { code, stdout, stderr } = await following.waitForExit();
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const events = parseLines(stdout);
    expect(events.map(({ request_id }) => request_id)).toEqual([first.request_id, second.request_id]);
    expect(Object.keys(events[0])).toEqual([
      ...['cursor', 'event', 'request_id', 'status', 'result', 'error_info'],
    ]);
    const after = await run(`events 流 --after ${events[0].cursor} -n 1`);
    expect(JSON.parse(after.stdout)).toEqual(events[1]);
  });

  test('ends quietly when its reader is gone, and on Ctrl-C with exit code 130', async () => {
    const session = '断';
    const submission = { task_type: 'echo', task_tags: ['echo'], payload: {}, cli_session_id: session };
    await client.runTask(submission);
    const cut = startProcess(`events ${session}`, { env });
    const interrupted = startProcess(`events ${session}`, { env });
    for (const command of [cut, interrupted]) {
      await expect.poll(() => command.stdout(), { timeout: 60_000 }).toContain('\n');
    }
    cut.child.stdout?.destroy();
    interrupted.child.kill('SIGINT');
    await client.runTask(submission);
    expect(await cut.waitForExit()).toMatchObject({ code: 0, stderr: '' });
    expect(await interrupted.waitForExit()).toMatchObject({
      code: 130,
      stderr: expect.stringContaining('--after '),
    });
  });
});

describe('agent list', () => {
  test('prints the agents as a table, as JSON and as JSON lines', async () => {
    const [table, json, lines] = await Promise.all([
      run('agent list'),
      run('agent list -o json'),
      run('agent list -o jsonl'),
    ]);
    expect(table.stdout).toMatch(/^AGENT ID {2}STATE .*\n执行者 {4}(ready|processing) .* pull {6}–\n$/);
    expect(JSON.parse(json.stdout)).toEqual([expect.objectContaining({ agent_id: '执行者' })]);
    expect(JSON.parse(lines.stdout)).toMatchObject({ agent_id: '执行者', eligible: true });
  });
});
