/**
 * Agents that respond when their work is done: thousands of pushes wait for a response at once, and none is
 * lost.
 */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { printFigure } from '../harness/figures.ts';
import { SECRET, startGateway } from '../harness/gateway-process.ts';
import { countDescriptors, readRssKiB } from './process-cost.ts';
import { createCaller } from './submitting.ts';

const PUSHES = 5_000;
/** Memory that a push may take while it waits for its response: its connection and what is known of it. */
const KIB_EACH_MAX = 100;

/** An agent that reads each push and responds to none of them before `respondToAll()`. */
async function startSilentAgent(): Promise<{
  readonly endpoint: string;
  readonly pushed: ReadonlyMap<string, number>;
  /** How many pushes wait for its response. */
  countWaiting(): number;
  respondToAll(): void;
  close(): Promise<void>;
}> {
  const pushed = new Map<string, number>();
  let unanswered: ServerResponse[] = [];
  const server = createServer((incoming, response) => {
    const id = String(incoming.headers['webhook-id']);
    pushed.set(id, (pushed.get(id) ?? 0) + 1);
    incoming.resume();
    unanswered.push(response);
  });
  await new Promise<void>((resolve) =>
    server.listen({ port: 0, host: '127.0.0.1', backlog: 4_096 }, resolve),
  );
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}/tasks`,
    pushed,
    countWaiting: () => unanswered.length,
    respondToAll() {
      for (const response of unanswered) response.writeHead(202).end();
      unanswered = [];
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

test(`${PUSHES} pushes to one agent wait for its responses, and all are acknowledged in the end`, {
  timeout: 300_000,
}, async () => {
  const gateway = await startGateway();
  const agent = await startSilentAgent();
  const caller = createCaller(gateway.baseUrl);
  onTestFinished(async () => {
    await Promise.all([caller.close(), agent.close(), gateway.stop()]);
  });
  const descriptors = countDescriptors(gateway.pid);
  const ids = await caller.submitMany(PUSHES, { task_tags: ['silent'], queue_timeout: 600 });
  const beforeKiB = readRssKiB(gateway.pid);
  await caller.call('POST', '/api/agent/register', {
    auth: SECRET,
    agent_id: 'silent',
    endpoint: agent.endpoint,
    agent_tags: ['silent'],
    max_concurrent: 2 * PUSHES,
  });
  await vi.waitFor(() => expect(agent.countWaiting()).toBe(PUSHES), { timeout: 300_000, interval: 100 });
  const eachKiB = (readRssKiB(gateway.pid) - beforeKiB) / PUSHES;
  printFigure('rss_of_a_push_without_response', eachKiB, 'KiB');
  expect(eachKiB).toBeLessThan(KIB_EACH_MAX);

  agent.respondToAll();
  expect(new Set(agent.pushed.keys())).toEqual(new Set(ids));
  expect([...agent.pushed.values()].filter((count) => count !== 1)).toEqual([]);
  // Connections to an agent that are not used are closed after seconds.
  await vi.waitFor(() => expect(countDescriptors(gateway.pid)).toBeLessThan(descriptors + 100), {
    timeout: 300_000,
    interval: 100,
  });
});
