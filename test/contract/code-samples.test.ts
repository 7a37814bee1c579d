/**
 * The code samples of the document, run as they stand against a real gateway: each sample of each operation.
 * Replaced are only the values that differ from run to run: the task's id, and addresses and ports.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createClient, type TaskGatewayClient } from '../../sdk/index.ts';
import { envFor, writeLauncher } from '../cli/cli-process.ts';
import { findFreePort } from '../harness/free-port.ts';
import { ADMIN_SECRET, type GatewayProcess, SECRET, startGateway } from '../harness/gateway-process.ts';
import type { ToolName } from '../harness/tools.ts';

const ROOT = join(import.meta.dirname, '../..');
const WAIT = { timeout: 60_000, interval: 20 };
const LABELS = ['curl', 'Python', 'SDK', 'CLI'] as const;
type Label = (typeof LABELS)[number];
type Sample = { readonly label: Label; readonly lang: string; readonly source: string };
type Operation = { readonly operationId: string; readonly 'x-codeSamples'?: readonly Sample[] };

const document = JSON.parse(readFileSync(join(ROOT, 'generated/openapi/task-gateway.3.1.json'), 'utf8'));
const items: readonly object[] = [
  ...Object.values(document.paths),
  ...Object.values(document.webhooks),
] as object[];
const operations = items.flatMap((item) => Object.values(item) as Operation[]);
/** What the document's examples call their task, agent and session. */
const EXAMPLE = {
  request_id: '019a9f6e-7c1b-7d52-9f0e-3b6f5a1c2d4e',
  agent_id: 'translator-1',
  session: 'cli-7f3a',
};
const TAGS = ['translate', 'zh-en'];

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'task-gateway-samples-'));
  mkdirSync(join(folder, 'node_modules/@task-gateway'), { recursive: true });
  symlinkSync(join(ROOT, 'sdk'), join(folder, 'node_modules/@task-gateway/sdk'));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  writeLauncher(folder);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('Every operation has a sample for curl, Python, the SDK and the command line.', () => {
  for (const { operationId, 'x-codeSamples': samples = [] } of operations) {
    expect(
      samples.map(({ label }) => label),
      operationId,
    ).toEqual(LABELS);
  }
  expect(operations.length).toBeGreaterThan(11);
});

/** What runs a sample and need not be there. */
function toolsOf(label: Label): ToolName[] {
  if (label === 'Python') return ['python'];
  return label === 'curl' ? ['curl'] : [];
}

/** A gateway for the samples of one kind, and what runs them. */
async function prepare(label: Label) {
  const gateway: GatewayProcess = await startGateway();
  onTestFinished(async () => void (await gateway.stop()));
  const client = createClient({ baseUrl: gateway.baseUrl, auth: SECRET, adminAuth: ADMIN_SECRET });
  const pushPort = await findFreePort();

  /** Starts a sample; it is killed with the test if it still runs then. */
  function start(operationId: string, request_id: string = EXAMPLE.request_id, as: Label = label) {
    const samples = operations.find((one) => one.operationId === operationId)?.['x-codeSamples'];
    const source = samples?.find((one) => one.label === as)?.source ?? '';
    const text = source
      .replace('http://10.0.0.7:9000/tasks', 'pull')
      .replaceAll('9000', String(pushPort))
      // Last: an id may have the digits of the port in it.
      .replaceAll(/019a9f6e(-[0-9a-f]+){4}/g, request_id);
    return launch(text, as, gateway);
  }

  /** Runs a sample to its end and returns what it printed. */
  async function run(operationId: string, request_id?: string): Promise<string> {
    const { output, child } = start(operationId, request_id);
    const [code] = await once(child, 'close');
    expect([code, output.error], `${label} ${operationId}`).toEqual([0, '']);
    return output.out;
  }

  return { client, run, start };
}

/** Runs a text as its reader would: in a shell, or as a program. */
function launch(text: string, label: Label, gateway: GatewayProcess) {
  const path = `${folder}:${dirname(process.execPath)}:${process.env.PATH ?? ''}`;
  const env = { PATH: path, LANG: 'C.UTF-8', HOME: folder, ...envFor(gateway) };
  const file = join(folder, `program-${label}-${Math.random()}.js`);
  if (label === 'SDK') writeFileSync(file, text);
  const isProgram = label === 'SDK' || label === 'Python';
  const child: ChildProcess =
    label === 'SDK'
      ? spawn(process.execPath, ['--conditions=task-gateway-source', file], { cwd: folder, env })
      : label === 'Python'
        ? spawn('python3', ['-c', text], { cwd: folder, env })
        : // A signal for the shell is one for what it runs.
          spawn('bash', ['--norc', '-eu', '-c', text], { cwd: folder, env, detached: true });
  const output = { out: '', error: '' };
  child.stdout?.on('data', (part) => (output.out += part));
  child.stderr?.on('data', (part) => (output.error += part));
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const closed = once(child, 'close');
    if (isProgram) child.kill(signal);
    else process.kill(-(child.pid ?? 0), signal);
    await closed;
  };
  onTestFinished(() => end('SIGKILL'));
  return { child, output, end };
}

const submitTask = (client: TaskGatewayClient, more: object = {}) =>
  client.submitTask({
    task_type: 'translate',
    task_tags: TAGS,
    payload: { pages: 3 },
    queue_timeout: 60,
    ...more,
  });

/** The calls of a client and of the administrator, which are alike in all three. */
async function tryClientCalls(label: Label): Promise<void> {
  const { client, run, start } = await prepare(label);
  expect(await run('submitTask')).toMatch(/[0-9a-f]{8}-[0-9a-f]{4}-7/);
  const { tasks } = await client.listTasks();
  expect(tasks).toMatchObject([{ task_type: 'translate', cli_session_id: EXAMPLE.session }]);
  const { request_id } = tasks[0] ?? { request_id: '' };
  expect(await client.getTask(request_id)).toMatchObject({
    timeout: 300,
    payload: { prompt: '把这份周报翻译成英文', file: '周报-47.md', pages: 3 },
  });
  expect(await run('getTask', request_id)).toContain(request_id);

  expect(await run('explainTask', request_id)).toContain('submitted');
  expect(await run('previewMatch')).toMatch(/translate/);
  const cancelled = await submitTask(client, { cli_session_id: EXAMPLE.session });
  expect(await run('cancelTask', cancelled.request_id)).toContain(cancelled.request_id);
  expect(await client.getTask(cancelled.request_id)).toMatchObject({ error_info: 'cancelled by user' });
  const stream = start('subscribeEvents');
  await vi.waitFor(() => expect(stream.output.out).toContain(cancelled.request_id), WAIT);
  await stream.end('SIGKILL');

  const unmatched = await submitTask(client, { task_tags: ['zh-en'], queue_timeout: 0 });
  await client.getTask(unmatched.request_id, { wait: 20 });
  expect(await run('listTasks')).toContain(unmatched.request_id.slice(-8));
  await client.registerAgent({ agent_id: EXAMPLE.agent_id, endpoint: 'pull', agent_tags: TAGS });
  expect(await run('listAgents')).toContain(EXAMPLE.agent_id);
}

for (const label of LABELS)
  test(
    `${label}: the samples of clients and of the administrator`,
    { timeout: 300_000, tags: toolsOf(label) },
    () => tryClientCalls(label),
  );

describe('the samples of agents', () => {
  for (const label of ['curl', 'Python', 'SDK'] as const)
    test(`${label}: make each call`, { timeout: 300_000, tags: toolsOf(label) }, async () => {
      const { client, run } = await prepare(label);
      expect(await run('registerAgent')).toMatch(/registration/);
      expect(await run('heartbeatAgent')).toMatch(/cancelled_request_ids/);
      const { request_id } = await submitTask(client);
      expect(await run('claimTask')).toContain(request_id);
      expect(await run('reportResult', request_id)).toMatch(/accepted"?: ?true/);
      const done = await client.getTask(request_id);
      expect(done.result).toEqual({
        reply: '收到,开始翻译。',
        output: 'Translated 3 pages: weekly-report-47.md',
      });
      await run('unregisterAgent');
      expect((await client.listAgents()).total).toBe(0);
    });

  test('CLI: the same command for all of them works on a task until it is stopped', async () => {
    const { client, start } = await prepare('CLI');
    const calls = ['registerAgent', 'heartbeatAgent', 'claimTask', 'reportResult', 'unregisterAgent'];
    const commands = calls.map((name) =>
      operations
        .find(({ operationId }) => operationId === name)
        ?.['x-codeSamples']?.find(({ label }) => label === 'CLI')
        ?.source.replace(/^# .*\n/, ''),
    );
    expect(new Set(commands).size).toBe(1);
    const agent = start('reportResult');
    const task = await client.runTask({ task_type: 't', task_tags: TAGS, payload: { pages: 3 } });
    expect(task.result.output).toBe('Translated: {"pages":3}');
    await agent.end('SIGINT');
    expect((await client.listAgents()).total).toBe(0);
  });

  for (const label of ['Python', 'SDK', 'CLI'] as const)
    test(`${label}: receives pushes, from the gateway and from the sample for curl`, {
      timeout: 300_000,
      tags: [...toolsOf(label), 'curl'],
    }, async () => {
      const { client, start } = await prepare(label);
      const agent = start('pushTask');
      const task = await client.runTask({ task_type: 't', task_tags: TAGS, payload: { pages: 3 } });
      expect(task.result.output).toMatch(/^Translated:? (3 pages|\{"pages":3\})$/);
      const push = start('pushTask', undefined, 'curl');
      await once(push.child, 'close');
      expect(push.output.out).toMatch(/^HTTP\/1\.1 202 /);
      await agent.end('SIGINT');
    });
});
