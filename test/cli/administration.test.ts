/** The commands of administrators against a real gateway, within this process. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeAll, expect, test } from 'vitest';
import type { TaskQuery } from '../../sdk/admin-calls.ts';
import { parseLines } from './command-run.ts';
import { client, run, useGateway } from './gateway-fixture.ts';

useGateway();

beforeAll(async () => {
  await client.registerAgent({ agent_id: 'zh/1', endpoint: 'pull', agent_tags: ['zh'] });
  for (const n of [1, 2, 3]) {
    const payload = { n, text: '\u001b[31m' };
    await client.submitTask({ task_type: 'render', task_tags: ['gpu'], queue_timeout: 600, payload });
  }
  const { request_id } = await client.submitTask({ task_type: 'other', task_tags: ['none'], payload: {} });
  await client.getTask(request_id, { wait: 60 });
});

async function countTasks(filter: TaskQuery): Promise<number | undefined> {
  return (await client.listTasks({ ...filter, limit: 1, counts: true })).counts?.total;
}

test('overview names what waits, and what is wrong with what to do', async () => {
  const { code, stdout } = await run('overview');
  expect(code).toBe(0);
  expect(stdout).toMatch(/^Tasks +3 waiting, 0 running$/m);
  // All slots are usable, so nothing is said of others.
  expect(stdout).toMatch(/^Slots +\d+ used, \d+ free$/m);
  expect(stdout).toMatch(/^✗ No agent has the tag `gpu`\. 3 tasks wait/m);
  expect(stdout).toMatch(/^gpu +3 +\S+ s ago +0 +0\/0 +0\/0$/m);
  const { stdout: json } = await run('overview -o json --tags 1');
  expect(JSON.parse(json)).toMatchObject({ tags: [{ tag: 'gpu' }], tags_total: 3 });
});

test('task failures names the agent, its share, the error and a task; overview has the same rows', async () => {
  await client.registerAgent({ agent_id: 'bad', endpoint: 'pull', agent_tags: ['bad'] });
  const ids: string[] = [];
  for (const status of ['success', 'failed', 'failed'] as const) {
    const { request_id } = await client.submitTask({ task_type: 'sum', task_tags: ['bad'], payload: {} });
    await client.claimTask({ agent_id: 'bad', wait: 10 });
    const report = { request_id, agent_id: 'bad', status };
    const error = `no row ${ids.length} \u001b[31m`;
    await client.reportResult(status === 'failed' ? { ...report, error_info: error } : report);
    ids.push(request_id);
  }
  // A reading of the overview is shared for a second.
  await expect.poll(async () => (await client.getOverview()).failures.failed, { timeout: 60_000 }).toBe(2);
  const row = new RegExp(`^2 of 3 +sum +bad +failed +\\S+ s ago +\\S+ s ago +${ids[2]} +no row 2`, 'm');
  const { code, stdout } = await run('task failures');
  expect(code).toBe(0);
  expect(stdout).toMatch(/^2 of 3 failed in the last 15 min\.$/m);
  expect(stdout).toMatch(row);
  expect(stdout).not.toContain('\u001b');
  const { stdout: overview } = await run('overview');
  expect(overview).toMatch(/^Failures +2 of 3 failed in the last 15 min$/m);
  expect(overview).toMatch(row);
  const json = JSON.parse((await run('task failures -o json')).stdout);
  expect(json).toMatchObject({ failed: 2, groups_total: 1, groups: [{ count: 2, request_id: ids[2] }] });
  const lines = (await run('task failures -o jsonl --type sum --agent bad')).stdout;
  expect(JSON.parse(lines)).toEqual(json.groups[0]);
  expect((await run('task failures -o jsonl --agent zh/1')).stdout).toBe('');
  const { stdout: list } = await run([
    ...['task', 'list', '--outcome', 'failed,timeout,agent_lost', '--ended-after', '15m'],
    ...['--error', 'no row 7 \u001b[31m', '-o', 'jsonl'],
  ]);
  const listed = list
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).request_id);
  expect(listed).toEqual([ids[2], ids[1]]);
  expect((await run(['task', 'list', '--error', ''])).code).toBe(2);
  await client.unregisterAgent({ agent_id: 'bad' });
});

test('agent show has the agent, and says that there is none', async () => {
  const { code, stdout } = await run('agent show zh/1');
  expect(code).toBe(0);
  expect(stdout).toMatch(/^agent_id +zh\/1$/m);
  expect(stdout).toMatch(/^state +ready$/m);
  expect(stdout).toMatch(/^registered +\S+ s ago$/m);
  expect((await run('agent list --tag zh --id ZH')).stdout).toMatch(/^zh\/1 +ready +0\/1 +zh /m);
  for (const filter of [['--failing'], ['--full'], ['--state', 'offline'], ['--tag', 'gpu']]) {
    const none = await run(['agent', 'list', ...filter]);
    expect([none.code, none.stdout, none.stderr], filter.join(' ')).toEqual([0, '', 'No agent matches.\n']);
  }
  await client.registerAgent({ agent_id: 'zh/1', endpoint: 'pull', agent_tags: ['zh'] });
  const again = (await run('agent show zh/1')).stdout;
  expect(again).toMatch(
    /^registered +\S+ s ago, while another process of this id was there: started again, or/m,
  );
  const rows = (await run('agent list -n 1 -o json')).stdout;
  expect(JSON.parse(rows)).toMatchObject([{ agent_id: 'zh/1', failing: false, push: { failures: 0 } }]);
  const missing = await run('agent show nobody');
  expect([missing.code, missing.stdout]).not.toEqual([0, '']);
  expect(missing.stderr).toContain('No agent is registered under this agent_id.');
});

test('agent drain drains an agent until --undo, and agent show says who did it', async () => {
  const drained = await run('agent drain zh/1');
  expect(drained).toMatchObject({
    code: 0,
    stdout: 'Agent zh/1 is drained: it has no task and gets no others.\n',
  });
  expect((await run('agent show zh/1')).stdout).toMatch(/^state +drained by the administrator$/m);
  expect((await run('agent list --state draining')).stdout).toMatch(/^zh\/1 +drained +0\/1 /m);
  // A reading of the overview is shared for a second.
  const overview = async (): Promise<string> => (await run('overview')).stdout;
  await expect.poll(overview).toContain('`zh/1` is drained by the administrator');
  await client.heartbeatAgent({ agent_id: 'zh/1', draining: true });
  expect((await run('agent drain zh/1 --undo')).stdout).toBe(
    'Agent zh/1 is no longer drained, but drains by itself: it gets no tasks.\n',
  );
  await client.heartbeatAgent({ agent_id: 'zh/1', draining: false });
  const json = JSON.parse((await run('agent drain zh/1 --undo -o json')).stdout);
  expect(json).toMatchObject({ agent_id: 'zh/1', state: 'ready', drained_by_operator: false });
  const missing = await run('agent drain nobody');
  expect([missing.code, missing.stdout]).toEqual([7, '']);
  expect(missing.stderr).toContain('No agent is registered under this agent_id.');
});

test('task list filters and counts; in JSON it prints the rows of the gateway', async () => {
  const { stdout } = await run('task list --status pending,running --after 1h -o jsonl');
  const tasks = parseLines(stdout);
  expect(tasks.map(({ payload_preview }) => JSON.parse(payload_preview).n)).toEqual([3, 2, 1]);
  expect(tasks[0]).toMatchObject({ status: 'pending', waiting: true, outcome: null, ended_time: null });
  const id = String(tasks[0].request_id);
  expect((await run(`task list --id ${id.slice(-8)}`)).stdout).toContain(id);
  const { stdout: shown } = await run(`task get ${id.slice(-8)} -o json`);
  expect(JSON.parse(shown).request_id).toBe(id);
  const counts = await run('task list --count --tag gpu');
  expect(counts.stdout).toMatch(/^Tasks +3$/m);
  expect(counts.stdout).toMatch(/^By status +pending 3, running 0, success 0, failed 0$/m);
  expect(counts.stdout).toMatch(/^Waiting +3$/m);
  expect((await run('task list --waiting -o jsonl')).stdout.trim().split('\n')).toHaveLength(3);
  expect((await run('task list --outcome lost')).stderr).toContain('Allowed choices are success');
  expect((await run('task list --after then')).code).toBe(2);
});

test('task cancel takes an id or filters, and a dry run cancels nothing', async () => {
  const filters = ['--filter', 'status=pending', '--filter', 'type=render'];
  expect((await run(['task', 'cancel', ...filters, '--dry-run'])).stdout).toBe('Would cancel 3 tasks.\n');
  const others = ['--filter', 'waiting=false', '--dry-run'];
  expect((await run(['task', 'cancel', ...others])).stdout).toBe('Would cancel 0 tasks.\n');
  expect(await countTasks({ status: ['pending'] })).toBe(3);
  for (const words of [
    [],
    ['x', ...filters],
    ['x', '--dry-run'],
    ['--filter', 'tags=gpu'],
    ['--filter', 'waiting=yes'],
    ['--filter', 'tag'],
  ]) {
    expect((await run(['task', 'cancel', ...words])).code, words.join(' ')).toBe(2);
  }
  expect((await run(['task', 'cancel', ...filters])).stdout).toBe('Cancelled 3 tasks.\n');
  expect(await countTasks({ outcome: ['cancelled'] })).toBe(3);
});

test('task list says which running tasks wait for an agent', async () => {
  const busy = createServer((_request, response) => void response.writeHead(503).end());
  await new Promise<void>((resolve) => busy.listen(0, '127.0.0.1', resolve));
  try {
    const { port } = busy.address() as AddressInfo;
    const endpoint = `http://127.0.0.1:${port}/tasks`;
    await client.registerAgent({ agent_id: 'busy', endpoint, agent_tags: ['busy'] });
    await client.submitTask({ task_type: 'offered', task_tags: ['busy'], payload: {} });
    await expect.poll(() => countTasks({ waiting: true, tag: 'busy' }), { timeout: 60_000 }).toBe(1);
    const { stdout } = await run('task list --waiting --tag busy');
    expect(stdout).toMatch(/ running, waits +0 +offered +busy +busy /);
  } finally {
    busy.closeAllConnections();
    busy.close();
  }
});
