/** How a task ended, as `getTask` says it: from its history, never from the text of its error. */
import { expect, test } from 'vitest';
import { describeEachStore } from '../harness/stores.ts';
import { buildRegistration, NEVER, type World } from '../harness/world.ts';
import { submit } from '../harness/world-calls.ts';
import { useWorlds } from '../harness/worlds.ts';

type Case = readonly [outcome: string, error_info: string | null, end: (world: World) => Promise<string>];

/** Submits a task, and reports that its agent failed with this text. */
async function failWith(world: World, error_info: string): Promise<string> {
  const request_id = await submit(world);
  await world.gateway.reportResult({ request_id, agent_id: 'A', status: 'failed', error_info });
  return request_id;
}

const AGENT_TEXTS = [
  'timeout',
  'cancelled by user',
  '无可用 Agent',
  'agent lost: no contact for 60 s',
  'success',
];

const CASES: readonly Case[] = [
  [
    'success',
    null,
    async (world) => {
      const request_id = await submit(world);
      await world.gateway.reportResult({ request_id, agent_id: 'A', status: 'success' });
      return request_id;
    },
  ],
  ...AGENT_TEXTS.map((text): Case => ['failed', text, (world) => failWith(world, text)]),
  [
    'cancelled',
    'cancelled by user',
    async (world) => {
      const request_id = await submit(world);
      await world.gateway.cancelTask(request_id);
      return request_id;
    },
  ],
  [
    'timeout',
    'timeout',
    async (world) => {
      const request_id = await submit(world, { timeout: 5 });
      await world.pass(6_000);
      return request_id;
    },
  ],
  ['no_agent', '无可用 Agent', (world) => submit(world, { task_tags: ['nobody'] })],
  [
    'agent_lost',
    'agent lost: no contact for 60 s',
    async (world) => {
      const request_id = await submit(world);
      await world.pass(65_000);
      return request_id;
    },
  ],
];

describeEachStore('on %s, a task', (_name, open) => {
  const start = useWorlds(open);

  test.each(CASES)('has the outcome %s, with the error %j', async (outcome, error_info, end) => {
    const world = await start();
    await world.gateway.registerAgent(buildRegistration('A', { lost_after: 60, max_concurrent: 2 }));
    const open = await submit(world);
    expect((await world.gateway.getTask(open, 0, NEVER)).outcome).toBeNull();
    const found = await world.gateway.getTask(await end(world), 0, NEVER);
    expect(found).toMatchObject({ task: { error_info }, outcome });
  });
});
