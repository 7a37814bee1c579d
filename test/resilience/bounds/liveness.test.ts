/**
 * Who is available, on the real process with real sockets: an agent that ends never takes its successor with
 * it.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Agent, createAgent } from '../../../sdk/agent/index.ts';
import { createClient } from '../../../sdk/index.ts';
import { type GatewayProcess, SECRET, startGateway } from '../../harness/gateway-process.ts';
import { SCALE } from './beside.ts';

let gateway: GatewayProcess;

beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.stop());

async function startProcessOf(agentId: string): Promise<Agent> {
  const agent = createAgent({
    ...{ baseUrl: gateway.baseUrl, auth: SECRET, agentId, tags: [agentId], maxConcurrent: 100 },
    listen: {},
    handler: () => 'done',
  });
  await agent.start();
  return agent;
}

test('In a rolling restart the process that ends neither unregisters nor drains its successor.', async () => {
  const client = createClient({ baseUrl: gateway.baseUrl, auth: SECRET });
  const old = await startProcessOf('rolling');
  const successor = await startProcessOf('rolling');
  try {
    const run = async (): Promise<string> => {
      const submission = { task_type: 't', task_tags: ['rolling'], payload: {}, timeout: 60 };
      const outcome = await client.runTask(submission).catch((error: Error) => error.message);
      return typeof outcome === 'string' ? outcome : outcome.status;
    };
    const tasks = Array.from({ length: 50 * SCALE }, run);
    await old.stop();
    const outcomes = await Promise.all([...tasks, run()]);
    expect(outcomes.filter((outcome) => outcome !== 'success')).toEqual([]);
  } finally {
    await successor.stop({ drainMs: 0 });
  }
});
