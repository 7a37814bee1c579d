/** Commands in a real terminal: the spinner, Ctrl-C, colours, and columns of wide characters. */
import { describe, expect, test } from 'vitest';
import { createAgent } from '../../sdk/agent/index.ts';
import { measureWidth } from '../../sdk/cli/terminal/width.ts';
import { SECRET } from '../harness/gateway-process.ts';
import { isRunning } from './cli-process.ts';
import { client, gateway, useAgent, useGateway } from './gateway-fixture.ts';
import { typeLine } from './terminal-fixture.ts';

useGateway();

useAgent({
  agentId: '执行者',
  tags: ['w'],
  handler(_task, { signal, progress }) {
    progress(42);
    return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  },
});

describe('in a terminal', { tags: 'tmux' }, () => {
  test('run shows a spinner with the progress; Ctrl-C cancels the task and removes the spinner', async () => {
    const { waitForText, press } = await typeLine('task-gateway run hang -t w; echo "exit=$?"');
    await waitForText(/^[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] running on 执行者 42 % \d+ s$/m);
    press('C-c');
    const screen = await waitForText(/exit=130\nready>/);
    expect(screen).toMatch(/^task-gateway: Cancelled task \S+\.$/m);
    expect(screen).not.toMatch(/running on/);
  });

  test('a second Ctrl-C exits at once, even if the gateway does not respond', async () => {
    const { waitForText, press } = await typeLine('task-gateway run hang -t w; echo "exit=$?"');
    await waitForText(/42 %/);
    process.kill(gateway.pid, 'SIGSTOP');
    try {
      press('C-c');
      await waitForText(/cancelling/);
      press('C-c');
      await waitForText(/exit=130\nready>/);
    } finally {
      process.kill(gateway.pid, 'SIGCONT');
    }
    for (const { request_id } of (await client.listTasks({ status: ['running'] })).tasks) {
      await client.cancelTask(request_id).catch(() => undefined);
    }
  });

  test('states have colours, but not with NO_COLOR; without UTF-8 the spinner is ASCII', async () => {
    const coloured = await typeLine('task-gateway agent list; echo "exit=$?"');
    const screen = await coloured.waitForText(/exit=0/, true);
    expect(screen).toContain('\u001b[32mready');
    coloured.close();
    const plain = await typeLine('task-gateway agent list; task-gateway run hang -t w', {
      NO_COLOR: '1',
      LANG: 'C',
    });
    const bare = await plain.waitForText(/[-|/\\] running on .* 42 %/, true);
    expect(bare).not.toContain('\u001b[');
    plain.press('C-c');
    await plain.waitForText(/Cancelled/);
  });

  test('columns with wide characters are aligned, and cut where the terminal ends', async () => {
    const kinds = ['plain', '世界', 'ﾊﾝｶｸ', '한국어', '长'.repeat(60)];
    for (const task_type of kinds) await client.submitTask({ task_type, task_tags: ['标签'], payload: {} });
    const { waitForText } = await typeLine(`clear; task-gateway task list --tag 标签; echo "exit=$?"`);
    const lines = (await waitForText(/exit=0/)).split('\n').filter((line) => /failed/.test(line));
    expect(lines).toHaveLength(kinds.length);
    // Each task is on one line, and the tags start in the same column of all lines.
    const columns = lines.map((line) => measureWidth(line.slice(0, line.indexOf('标'))));
    expect(new Set(columns).size).toBe(1);
    expect(lines[0]).toContain('长…');
    for (const line of lines) expect(measureWidth(line)).toBeLessThanOrEqual(100);
  });

  test('a list at 80 columns distinguishes its tasks, each on one line; a short id is enough for get', async () => {
    const all = Array.from({ length: 4 }, (_, index) =>
      client.submitTask({
        task_type: `a-rather-long-type-${index}`,
        task_tags: ['列', 'a-second-tag-that-is-long'],
        payload: {},
        cli_session_id: 'eighty',
      }),
    );
    const tasks = await Promise.all(all);
    const words = 'clear; task-gateway task list --session eighty; echo "exit=$?"';
    const { waitForText, press } = await typeLine(words, {}, 80);
    const screen = await waitForText(/exit=0/);
    const lines = screen.split('\n').slice(0, screen.split('\n').indexOf('exit=0'));
    expect(lines[0]).toMatch(/^ID +CREATED +STATUS +% +TYPE +TAGS +AGENT +ERROR$/);
    expect(lines).toHaveLength(5);
    for (const line of lines) expect(measureWidth(line)).toBeLessThanOrEqual(80);
    for (const line of lines.slice(1)) {
      expect(line).toMatch(/^[\da-f]{8} {2}\d+ s ago +failed +0 +a-\S*… +列,\S*… +– +无可用/);
    }
    const shown = lines.slice(1).map((line) => line.slice(0, 8));
    expect(shown.toSorted()).toEqual(tasks.map(({ request_id }) => request_id.slice(-8)).toSorted());
    press(`clear; task-gateway task get ${shown[0]} -o json | grep request_id`);
    press('Enter');
    await waitForText(new RegExp(`"request_id": "\\S+${shown[0]}"`));
  });

  test('wait and run show what a pending task waits for, and with the admin secret which agents there are', async () => {
    const full = createAgent({
      baseUrl: gateway.baseUrl,
      auth: SECRET,
      agentId: 'full',
      tags: ['busy'],
      maxConcurrent: 1,
      handler: (_task, { signal }) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    });
    await full.start();
    const submission = { task_type: 'x', task_tags: ['busy'], payload: {}, queue_timeout: 60 };
    await client.submitTask(submission);
    const { request_id } = await client.submitTask(submission);
    const admin = await typeLine(`task-gateway task wait ${request_id}`);
    await admin.waitForText(/ waiting for an agent with the tag busy \(1 agent has it, full\) \d+ s$/m);
    admin.close();
    const client2 = await typeLine('task-gateway run x -t none -t nothing', { TASK_GATEWAY_ADMIN_AUTH: '' });
    await client2.waitForText(/ waiting for an agent with one of the tags none, nothing \d+ s$/m);
    client2.press('C-c');
    await client2.waitForText(/Cancelled/);
    await full.stop({ drainMs: 0 });
  });

  test('a prompt appears when the payload must be typed', async () => {
    const { waitForText, press } = await typeLine('task-gateway task submit x - -t no-agent; echo "exit=$?"');
    await waitForText(/then press Ctrl-D/);
    press('{"a":');
    press('C-c');
    await waitForText(/Interrupted\.\nexit=130/);
  });

  test('closing the terminal ends an agent and its running program', async () => {
    const words = 'agent exec -t closed --drain 0 --kill-after 0.3 --';
    const { waitForText, close } = await typeLine(
      `task-gateway ${words} sh -c 'echo "pid=$$" >&2; sleep 1000'`,
    );
    await waitForText(/Registered/);
    const { request_id } = await client.submitTask({ task_type: 'x', task_tags: ['closed'], payload: {} });
    const [, pid] = /pid=(\d+)$/m.exec(await waitForText(/pid=\d+$/m)) ?? [];
    close();
    await expect.poll(() => isRunning(Number(pid)), { timeout: 60_000 }).toBe(false);
    await expect
      .poll(async () => (await client.getTask(request_id)).error_info, { timeout: 60_000 })
      .toBe('the agent was stopped before the task was done');
  });
});
