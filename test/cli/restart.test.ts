/** A gateway that is killed and comes back: an agent, a follower and a waiter go on as if nothing had been. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { type GatewayProcess, startGateway } from '../harness/gateway-process.ts';
import { envFor, type Running, runCommand, startCommand } from './cli-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'task-gateway-cli-'));
const running: Running[] = [];
let gateway: GatewayProcess | undefined;

afterEach(async () => {
  for (const one of running.splice(0)) await one.kill();
  await gateway?.stop();
  rmSync(folder, { recursive: true, force: true });
});

test('a task that ends while the gateway is away is reported, awaited and followed when it is back', async () => {
  const settings = { STORE: `sqlite:${folder}/gateway.db` };
  gateway = await startGateway(settings);
  const env = envFor(gateway);
  const start = (...words: readonly string[]): Running => {
    const one = startCommand(words, { env });
    running.push(one);
    return one;
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
  await agent.said('Registered');
  const events = start('events', 'night', '--count', '1');
  const submitted = await runCommand(['task', 'submit', 'x', '-t', 'slow', '-s', 'night'], { env });
  const id = submitted.stdout.trim();
  const waiting = start('task', 'wait', id);
  await agent.said('begun');

  const { port } = new URL(gateway.baseUrl);
  await gateway.kill();
  await events.said('Next attempt in');
  writeFileSync(join(folder, 'go'), '');
  await agent.said('over');
  gateway = await startGateway({ ...settings, PORT: port });

  expect(await waiting.ended()).toEqual({ code: 0, stdout: 'done\n', stderr: '' });
  const followed = await events.ended();
  expect(followed.code).toBe(0);
  expect(JSON.parse(followed.stdout)).toMatchObject({ request_id: id, result: { output: 'done' } });
  agent.child.kill('SIGTERM');
  expect((await agent.ended()).code).toBe(0);
}, 60_000);
