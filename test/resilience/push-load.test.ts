/** Pushes under way are bounded: beyond that due pushes wait, nothing is lost, and no other caller waits. */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { printFigure } from '../harness/figures.ts';
import { SECRET, startGateway } from '../harness/gateway-process.ts';
import { expectSimilar } from './beside-alone.ts';
import { countDescriptors, percentile } from './process-cost.ts';
import { type Caller, createCaller } from './submitting.ts';

const PUSHES_MAX = 5_000;
const MORE = 100;

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

/** How long a submit and a get take, one after the other. */
async function measureCalls(caller: Caller): Promise<readonly number[]> {
  const took: number[] = [];
  for (let n = 0; n < 100; n += 1) {
    const startMs = performance.now();
    const [id] = await caller.submitMany(1, {});
    await caller.call('GET', `/api/cli/tasks/${id}?auth=${SECRET}`);
    took.push(performance.now() - startMs);
  }
  return took;
}

test(`of ${PUSHES_MAX + MORE} tasks for an agent that does not answer ${PUSHES_MAX} are pushed at a time, and all in the end`, {
  timeout: 300_000,
}, async () => {
  const gateway = await startGateway();
  const agent = await startSilentAgent();
  const caller = createCaller(gateway.baseUrl);
  onTestFinished(async () => {
    await Promise.all([caller.close(), agent.close(), gateway.stop()]);
  });
  const alone = await measureCalls(caller);
  const descriptors = countDescriptors(gateway.pid);
  await caller.call('POST', '/api/agent/register', {
    auth: SECRET,
    agent_id: 'silent',
    endpoint: agent.endpoint,
    agent_tags: ['silent'],
    max_concurrent: 2 * PUSHES_MAX,
  });
  const ids = await caller.submitMany(PUSHES_MAX + MORE, { task_tags: ['silent'], queue_timeout: 600 });
  await vi.waitFor(() => expect(agent.countWaiting()).toBe(PUSHES_MAX), { timeout: 90_000, interval: 100 });

  const took = await measureCalls(caller);
  printFigure(`submit_get_beside_${PUSHES_MAX}_pushes_p99`, percentile(took, 0.99), 'ms');
  expectSimilar(percentile(took, 0.5), percentile(alone, 0.5));
  expect(agent.countWaiting()).toBe(PUSHES_MAX);

  await vi.waitFor(
    () => {
      agent.respondToAll();
      expect(agent.pushed.size).toBe(ids.length);
    },
    { timeout: 90_000, interval: 100 },
  );
  expect(new Set(agent.pushed.keys())).toEqual(new Set(ids));
  expect([...agent.pushed.values()].filter((count) => count !== 1)).toEqual([]);
  // Connections to an agent that are not used are closed after seconds.
  await vi.waitFor(() => expect(countDescriptors(gateway.pid)).toBeLessThan(descriptors + 100), {
    timeout: 60_000,
    interval: 100,
  });
});
