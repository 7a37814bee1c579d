/**
 * Why a task does not run: ten situations, each brought about on a whole gateway on each engine and asked for
 * by HTTP. The texts are what a person reads, so they stand here word for word; the remedies are what a
 * program reads.
 */
import type { components } from '@task-gateway/contract';
import { afterEach, describe, expect, test } from 'vitest';
import { BUSY, REFUSED } from '../harness/fake-pusher.ts';
import { SECRET, startTestServer } from '../harness/http-server.ts';
import { STORES } from '../harness/stores.ts';
import { buildRegistration, type World } from '../harness/world.ts';
import { submit } from '../harness/world-calls.ts';
import { useWorlds } from '../harness/worlds.ts';

type Explanation = components['schemas']['TaskExplanation'];

/** Brings a situation about; resolves with the id of the task. */
type Situation = {
  readonly name: string;
  readonly hint: string;
  /** Kind and what it is about, each. */
  readonly remedies: readonly string[];
  readonly events: readonly string[];
  readonly arrange: (world: World) => Promise<string>;
};

async function register(world: World, agent_id: string, more = {}): Promise<void> {
  await world.gateway.registerAgent(
    buildRegistration(agent_id, { agent_tags: ['gpu'], max_concurrent: 4, ...more }),
  );
  await world.runUntilIdle();
}

const urlOf = (agent_id: string): string => `http://${agent_id}.test/tasks`;
const gpu = { task_tags: ['gpu'] };

async function fillThree(world: World): Promise<void> {
  for (const agent_id of ['gpu-a', 'gpu-b', 'gpu-c']) await register(world, agent_id, { current_load: 4 });
}

const SITUATIONS: readonly Situation[] = [
  {
    name: 'no such tag',
    hint: 'No agent has the tag `translate`, and the one registered agent has none like it. Start an agent with it, or submit the task with a tag that an agent has.',
    remedies: ['start_agent translate'],
    events: ['submitted', 'no_agent'],
    async arrange(world) {
      await register(world, 'gpu-a');
      return await submit(world, { task_tags: ['translate'] });
    },
  },
  {
    name: 'near miss',
    hint: 'No agent has the tag `gpu2`; the nearest is `gpu` (2 agents, 1 free). Submit the task with `gpu`, or start an agent with `gpu2`.',
    remedies: ['use_tag gpu', 'start_agent gpu2'],
    events: ['submitted', 'no_agent'],
    async arrange(world) {
      await register(world, 'gpu-a');
      await register(world, 'gpu-b', { current_load: 4 });
      return await submit(world, { task_tags: ['gpu2'] });
    },
  },
  {
    name: 'full',
    hint: 'All 3 agents with the tag `gpu` are full (12 of 12 slots). Raise their `max_concurrent`, start another agent with the tag, or submit with `queue_timeout`, so that the task waits for a slot.',
    remedies: ['wait 600', 'raise_max_concurrent gpu-a', 'start_agent gpu'],
    events: ['submitted', 'no_agent'],
    async arrange(world) {
      await fillThree(world);
      return await submit(world, gpu);
    },
  },
  {
    name: 'draining',
    hint: 'The one agent with the tag `gpu` (`gpu-a`) is draining: it gets no new tasks. Start another agent with the tag, or end the draining: register the agent again, or send its heartbeat with `draining: false`.',
    remedies: ['end_draining gpu-a', 'start_agent gpu'],
    events: ['submitted', 'no_agent'],
    async arrange(world) {
      await register(world, 'gpu-a');
      await world.gateway.heartbeatAgent({ agent_id: 'gpu-a', draining: true });
      return await submit(world, gpu);
    },
  },
  {
    name: 'offline',
    hint: 'The one agent with the tag `gpu` (`gpu-a`) is offline: its last contact was 7 min before. Start it again, or start another agent with the tag.',
    remedies: ['start_agent gpu gpu-a', 'start_agent gpu'],
    events: ['submitted', 'no_agent'],
    async arrange(world) {
      await register(world, 'gpu-a');
      await world.gateway.heartbeatAgent({ agent_id: 'gpu-a' });
      await world.pass(400_000);
      return await submit(world, gpu);
    },
  },
  {
    name: 'push failing',
    hint: 'Pushes to agent `gpu-a` fail: connection refused (4 attempts). The next attempt is in 3.2 s. Check that the agent runs, and that the gateway can reach the endpoint it registered. No other agent has one of its tags.',
    remedies: ['check_agent gpu-a', 'start_agent gpu'],
    events: ['submitted', 'assigned', 'push_not_taken', 'waiting'],
    async arrange(world) {
      world.pusher.script(urlOf('gpu-a'), REFUSED);
      await register(world, 'gpu-a');
      const id = await submit(world, gpu);
      await world.pass(12_000);
      return id;
    },
  },
  {
    name: 'refused',
    hint: 'Agent `gpu-a` refuses the task as busy: busy (2 attempts). The next attempt is in 1.2 s. No other agent has one of its tags. Start another agent with one of the tags. If it is busy too often, register it with a lower `max_concurrent`, so that tasks go elsewhere.',
    remedies: ['start_agent gpu', 'check_agent gpu-a'],
    events: ['submitted', 'assigned', 'push_not_taken', 'waiting', 'push_not_taken'],
    async arrange(world) {
      world.pusher.script(urlOf('gpu-a'), BUSY);
      await register(world, 'gpu-a');
      const id = await submit(world, gpu);
      await world.pass(6_000);
      return id;
    },
  },
  {
    name: 'waiting',
    hint: 'All 3 agents with the tag `gpu` are full (12 of 12 slots). Raise their `max_concurrent` or start another agent with the tag to run it sooner. The task waits for 40 s more.',
    remedies: ['raise_max_concurrent gpu-a', 'start_agent gpu'],
    events: ['submitted', 'waiting'],
    async arrange(world) {
      await fillThree(world);
      const id = await submit(world, { ...gpu, queue_timeout: 60 });
      await world.pass(20_000);
      return id;
    },
  },
  {
    name: 'expired',
    hint: 'The task waited 30 s for an agent, as its `queue_timeout` says. All 3 agents with the tag `gpu` are full (12 of 12 slots). Raise their `max_concurrent`, start another agent with the tag, or submit with a longer `queue_timeout`, so that the task waits longer for a slot.',
    remedies: ['wait 600', 'raise_max_concurrent gpu-a', 'start_agent gpu'],
    events: ['submitted', 'waiting', 'no_agent'],
    async arrange(world) {
      await fillThree(world);
      const id = await submit(world, { ...gpu, queue_timeout: 30 });
      await world.pass(31_000);
      return id;
    },
  },
  {
    name: 'lost',
    hint: 'Agent `gpu-a` was lost: no contact for 60 s, longer than the `lost_after` it registered with. It may have done a part of the task. Start the agent again, or make sure that its heartbeats reach the gateway; then submit the task again.',
    remedies: ['start_agent gpu-a', 'submit_again'],
    events: ['submitted', 'assigned', 'push_taken', 'agent_lost'],
    async arrange(world) {
      await register(world, 'gpu-a', { lost_after: 60 });
      const id = await submit(world, gpu);
      await world.pass(65_000);
      return id;
    },
  },
];

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

async function serve(world: World): Promise<string> {
  const server = await startTestServer(world.gateway);
  stops.push(() => server.stop(0));
  return server.url;
}

async function explain(url: string, id: string): Promise<Explanation> {
  const response = await fetch(`${url}/api/cli/tasks/${id}/explain`, {
    headers: { authorization: `Bearer ${SECRET}` },
  });
  expect(response.status).toBe(200);
  return await response.json();
}

const describeRemedies = ({ remedies }: Pick<Explanation, 'remedies'>): readonly string[] =>
  remedies.map(({ kind, tag, agent_id, seconds }) =>
    [kind, tag, agent_id, seconds].filter((part) => part !== null).join(' '),
  );

describe.each(STORES)('on %s, a task is explained', (_name, open) => {
  const start = useWorlds(open);

  test.each(SITUATIONS)('$name', async ({ arrange, hint, remedies, events }) => {
    const world = await start();
    const id = await arrange(world);
    const explanation = await explain(await serve(world), id);
    expect(explanation.hint).toBe(hint);
    expect(describeRemedies(explanation)).toEqual(remedies);
    expect(explanation.history.map(({ event }) => event)).toEqual(events);
    expect(explanation.outcome).toBe(explanation.status === 'failed' ? events.at(-1) : null);
  });
});
