/**
 * `agent exec` at its limit of open files: it refuses tasks as busy, goes on with the others, and loses none.
 */
import { existsSync, readdirSync, readlinkSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createAgent } from '../../sdk/agent/index.ts';
import { createClient, type TaskGatewayClient } from '../../sdk/client.ts';
import { ADMIN_SECRET, type GatewayProcess, SECRET, startGateway } from '../harness/gateway-process.ts';
import { type CommandProcess, envFor, startProcess } from './cli-process.ts';

/**
 * Enough for Node itself and some of the programs. The process of the tests leaves some of its own files
 * open in those that it starts, more of them the more suites run beside this one: they are closed first.
 */
const CLOSE_INHERITED =
  'for f in /proc/$$/fd/*; do n=$(basename $f); if [ -e $f ] && ((n > 2)); then eval "exec $n>&-"; fi; done';
const LIMITED = ['bash', '-c', `${CLOSE_INHERITED}; ulimit -n 60 && exec "$@"`, 'bash'];
const TASKS = 24;
let gateway: GatewayProcess;
let client: TaskGatewayClient;
const started: CommandProcess[] = [];

beforeAll(async () => {
  gateway = await startGateway();
  client = createClient({ baseUrl: gateway.baseUrl, auth: SECRET, adminAuth: ADMIN_SECRET });
});

afterEach(async () => {
  for (const agent of started.splice(0)) await agent.kill();
});

/** An error that says why tasks have no success, and what the agents said and have open. */
async function describeCause(cause: unknown): Promise<Error> {
  const { tasks } = await client.listTasks({});
  const ids = tasks.filter(({ status }) => status !== 'success').map(({ request_id }) => request_id);
  const explained = await Promise.all(ids.map((request_id) => client.explainTask(request_id)));
  const agents = started.map(
    ({ child, stderr }) => `${stderr().slice(-4_000)}\nopen: ${listFiles(child.pid).join(', ')}`,
  );
  return new Error(`${cause}\n${JSON.stringify(explained)}\n${agents.join('\n')}`, { cause });
}

afterAll(() => gateway?.stop());

async function startLimited(tag: string, script: string, ...options: readonly string[]) {
  const words = ['agent', 'exec', '-t', tag, '--max', `${TASKS}`, ...options, '--', 'sh', '-c', script];
  const agent = startProcess(words, { env: envFor(gateway), under: LIMITED });
  started.push(agent);
  await agent.waitForLog('Registered');
  return agent;
}

/** What the process has open; nothing where it has ended. */
function listFiles(pid: number | undefined): readonly string[] {
  const folder = `/proc/${pid}/fd`;
  return existsSync(folder) ? readdirSync(folder).map((file) => readlinkSync(`${folder}/${file}`)) : [];
}

test.each([
  ['that claims', []],
  ['that gets pushes', ['--listen', '127.0.0.1:0']],
] as const)(
  'an agent %s loses no task and lives on',
  async (_how, options) => {
    const tag = `many ${options.length}`;
    const agent = await startLimited(tag, 'read -r _; sleep 0.3; echo done', ...options);
    const submission = { task_type: 'x', task_tags: [tag], payload: {}, timeout: 110, queue_timeout: 110 };
    const runs = Array.from({ length: TASKS }, () => client.runTask(submission));
    const results = await Promise.all(runs).catch(async (cause: unknown) => {
      throw await describeCause(cause);
    });
    const outputs = results.map(({ result }) => result.output);
    expect(outputs).toEqual(Array(TASKS).fill('done'));
    agent.child.kill('SIGINT');
    expect((await agent.waitForExit()).code).toBe(0);
  },
  // On a machine with other work each refusal delays the next push further.
  120_000,
);

test('what it refuses goes at once to an agent that has files', async () => {
  const agent = await startLimited('shared', 'read -r _; sleep 60', '--listen', '127.0.0.1:0');
  const submission = { task_type: 'x', task_tags: ['shared'], payload: {}, timeout: 60, queue_timeout: 60 };
  const taken = (): number => agent.stderr().match(/taken/g)?.length ?? 0;
  // More programs than it has files for, one after the other: each push reaches it. A connection that it has
  // no file for is cut, and then it may have the task, which stays with it.
  const ids: string[] = [];
  while (ids.length < TASKS) {
    const before = taken();
    const { request_id } = await client.submitTask(submission);
    ids.push(request_id);
    const isAnswered = async (): Promise<boolean> =>
      taken() > before ||
      (await client.explainTask(request_id)).history.some(({ event }) => event.startsWith('push_'));
    await expect.poll(isAnswered, { timeout: 60_000, interval: 20 }).toBe(true);
  }
  await expect.poll(taken, { timeout: 60_000 }).toBeGreaterThan(1);
  const other = createAgent({
    baseUrl: gateway.baseUrl,
    auth: SECRET,
    agentId: 'other',
    tags: ['shared'],
    maxConcurrent: 50,
    handler: () => 'by the other',
  });
  await other.start();
  await expect
    .poll(
      async () => {
        const { tasks } = await client.listTasks({ tag: 'shared', status: ['success'] });
        return tasks.length + taken();
      },
      { timeout: 60_000 },
    )
    .toBe(TASKS);
  expect(taken()).toBeLessThan(TASKS);
  expect((await client.listTasks({ tag: 'shared', status: ['failed'] })).tasks).toEqual([]);
  for (const request_id of ids) await client.cancelTask(request_id).catch(() => undefined);
  await other.stop({ drainMs: 0 });
});
