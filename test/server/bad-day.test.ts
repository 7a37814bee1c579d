/**
 * A bad day of a real gateway at `LOG_LEVEL=info`: an agent that is down and comes back, wrong secrets again
 * and again, tasks for a tag that no agent has. Its log stays short, and each line says something.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { get, post, submit } from '../e2e/plain-calls.ts';
import { findFreePort } from '../harness/free-port.ts';
import { SECRET, startGateway } from '../harness/gateway-process.ts';

/** The most that the whole day may log, from start to end. */
const LINES_MAX = 30;

async function register(url: string, agent_id: string, port: number): Promise<void> {
  const endpoint = `http://127.0.0.1:${port}/tasks`;
  await post(url, '/api/agent/register', {
    auth: SECRET,
    agent_id,
    endpoint,
    agent_tags: ['cpu'],
    max_concurrent: 50,
  });
}

/** An agent that acknowledges every push. */
async function listen(port: number): Promise<Server> {
  const server = createServer((request, response) => {
    request.resume().once('end', () => response.writeHead(202).end());
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return server;
}

test('a bad day has at most 30 lines, and each says something', async () => {
  const gateway = await startGateway({ TRUSTED_PROXIES: '127.0.0.1' });
  onTestFinished(() => void gateway.stop());
  const { baseUrl: url } = gateway;

  // The agent registers, and then its machine is off: no push arrives.
  const port = await findFreePort();
  await register(url, 'worker-1', port);
  const ids = await Promise.all(Array.from({ length: 40 }, () => submit(url, { task_tags: ['cpu'] })));
  await expect.poll(() => gateway.output()).toContain('pushes to an agent fail');

  // A client with a wrong secret, that repeats its call; others come from elsewhere.
  for (let n = 0; n < 200; n += 1) {
    const from = n % 10 === 0 ? `203.0.113.${n}` : '198.51.100.4';
    const response = await fetch(`${url}/api/cli/tasks/x?auth=wrong-${n}`, {
      headers: { 'X-Forwarded-For': from },
    });
    expect(response.status).toBe(401);
    await response.arrayBuffer();
  }

  // Tasks whose tag no agent has.
  for (let n = 0; n < 100; n += 1) {
    await submit(url, { task_tags: n % 4 === 0 ? ['gpu', 'eu'] : ['gpu2'] });
  }

  // The agent is back, takes its tasks, and unregisters at the end of the day.
  const { port: again } = (await listen(port)).address() as AddressInfo;
  await register(url, 'worker-1', again);
  await expect.poll(() => gateway.output()).toContain('pushes to an agent arrive again');
  for (const request_id of ids.slice(0, 5)) {
    await post(url, '/api/agent/result', { agent_id: 'worker-1', request_id, status: 'success', result: {} });
  }
  await post(url, '/api/agent/unregister', { agent_id: 'worker-1' });
  expect((await get(url, `/api/cli/tasks/${ids[0]}`)).body.status).toBe('success');
  expect(await gateway.stop()).toBe(0);

  const lines = gateway.output().trim().split('\n');
  console.log(`The log of a bad day, ${lines.length} lines:\n${lines.join('\n')}`);
  expect(lines.length).toBeLessThanOrEqual(LINES_MAX);
  const parsed = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  for (const line of parsed)
    expect(line).toMatchObject({
      level: expect.any(String),
      time: expect.any(String),
      msg: expect.stringMatching(/\w{5,}/),
    });
  // No two lines are the same but for their time.
  expect(new Set(parsed.map(({ time: _, ...line }) => JSON.stringify(line))).size).toBe(lines.length);
  const messages = parsed.map(({ msg }) => String(msg));
  for (const said of [
    ...['an agent registered', 'pushes to an agent fail; they are repeated'],
    ...['a request was refused: its secret is missing or wrong'],
    ...['a task failed: no agent has one of its tags and a free slot', 'pushes to an agent arrive again'],
    ...['an agent unregistered'],
  ]) {
    expect(messages, said).toContain(said);
  }
  expect(gateway.output()).toContain('198.51.100.4');
  expect(gateway.output()).toMatch(/free slot: 98 more \(gpu2: 74\)/);
  expect(gateway.output()).not.toContain('wrong-');
});
