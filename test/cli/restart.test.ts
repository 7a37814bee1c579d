/** Commands that run while the gateway is killed and restarted: an agent, `events` and `task wait`. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { type GatewayProcess, startGateway } from '../harness/gateway-process.ts';
import { type CommandProcess, envFor, startProcess } from './cli-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'task-gateway-cli-'));
const running: CommandProcess[] = [];
let gateway: GatewayProcess | undefined;

afterEach(async () => {
  for (const command of running.splice(0)) await command.kill();
  await gateway?.stop();
  rmSync(folder, { recursive: true, force: true });
});

test('a task that finishes during an outage of the gateway is reported after the restart, and reaches wait and events', async () => {
  const settings = { STORE: `sqlite:${folder}/gateway.db` };
  gateway = await startGateway(settings);
  const env = envFor(gateway);
  const start = (...words: readonly string[]): CommandProcess => {
    const command = startProcess(words, { env });
    running.push(command);
    return command;
  };
  const script = `echo begun >&2; until [ -e '${folder}/go' ]; do sleep 0.1; done; echo over >&2; echo done`;
  const agent = start(
    'agent',
    'exec',
    '-t',
    'slow',
    '--outbox',
    join(folder, 'outbox'),
    '--',
    'sh',
    '-c',
    script,
  );
  await agent.waitForLog('Registered');
  const events = start('events', 'night', '--count', '1');
  const submitted = await startProcess('task submit x -t slow -s night', { env }).waitForExit();
  const id = submitted.stdout.trim();
  const waiting = start('task', 'wait', id);
  await agent.waitForLog('begun');

  const { port } = new URL(gateway.baseUrl);
  await gateway.kill();
  await events.waitForLog('Reconnecting in');
  writeFileSync(join(folder, 'go'), '');
  await agent.waitForLog('over');
  gateway = await startGateway({ ...settings, PORT: port });

  expect(await waiting.waitForExit()).toEqual({ code: 0, stdout: 'done\n', stderr: '' });
  const followed = await events.waitForExit();
  expect(followed.code).toBe(0);
  expect(JSON.parse(followed.stdout)).toMatchObject({ request_id: id, result: { output: 'done' } });
  agent.child.kill('SIGTERM');
  expect((await agent.waitForExit()).code).toBe(0);
});
