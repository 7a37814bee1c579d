/**
 * Why a task does not run: situations that are brought about on a whole gateway on each engine and asked for
 * by HTTP, each of which needs another part of it. The words of every situation are in
 * `domain/advice.test.ts` and `domain/match-advice.test.ts`.
 */
import type { components } from '@task-gateway/contract';
import { afterEach, expect, test } from 'vitest';
import { BROKEN, REFUSED } from '../harness/fake-pusher.ts';
import { SECRET, startTestServer } from '../harness/http-server.ts';
import { describeEachStore } from '../harness/stores.ts';
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
    name: 'near miss',
    hint: 'No agent has the tag `gpu2`; the nearest is `gpu` (2 agents, 1 free). Submit the task with `gpu`, or start an agent with `gpu2`. That was so when the task failed. It does not start by itself: submit it again.',
    remedies: ['use_tag gpu', 'start_agent gpu2', 'submit_again'],
    events: ['submitted', 'no_agent'],
    async arrange(world) {
      await register(world, 'gpu-a');
      await register(world, 'gpu-b', { current_load: 4 });
      return await submit(world, { task_tags: ['gpu2'] });
    },
  },
  {
    name: 'offline',
    hint: 'The one agent with the tag `gpu` (`gpu-a`) is offline: its last contact was 7 min before. Start it again, or if it runs, make sure that its heartbeats reach the gateway; or start another agent with the tag. That was so when the task failed. It does not start by itself: submit it again.',
    remedies: ['start_agent gpu gpu-a', 'start_agent gpu', 'submit_again'],
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
    hint: 'Pushes to agent `gpu-a` fail: connection refused (4 attempts). The next attempt is in 3.2 s. Check that the agent runs, and that the gateway can reach the endpoint it registered. No other agent has the tag `gpu`. The gateway keeps trying until the `timeout` of the task is over.',
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
    name: 'expired',
    hint: 'The task waited 30 s for an agent, its whole `queue_timeout`. All 3 agents with the tag `gpu` are full (12 of 12 slots). Raise their `max_concurrent`, start another agent with the tag, or submit with a longer `queue_timeout` (say, 600 seconds), so that the task waits longer for a slot. That was so when the task failed. It does not start by itself: submit it again.',
    remedies: ['wait 600', 'raise_max_concurrent gpu-a', 'start_agent gpu', 'submit_again'],
    events: ['submitted', 'waiting', 'no_agent'],
    async arrange(world) {
      await fillThree(world);
      const id = await submit(world, { ...gpu, queue_timeout: 30 });
      await world.pass(31_000);
      return id;
    },
  },
  {
    name: 'silent',
    hint: 'Agent `gpu-a` has taken the task and has been silent for 50 s. If it stays silent, it is offline in 40 s, and the task fails as lost in 4 min. Look at its log, and whether its heartbeats reach the gateway.',
    remedies: ['check_agent gpu-a'],
    events: ['submitted', 'assigned', 'push_taken'],
    async arrange(world) {
      await register(world, 'gpu-a', { lost_after: 300 });
      const id = await submit(world, gpu);
      await world.pass(10_000);
      await world.gateway.heartbeatAgent({ agent_id: 'gpu-a' });
      await world.pass(50_000);
      return id;
    },
  },
  {
    name: 'lost',
    hint: 'Agent `gpu-a` was lost: no contact for 60 s, which is beyond the `lost_after` it registered with. It had the task for 60 s. It may have done a part of the task, and may still be at it: look before you submit the task again. Start the agent again, or if it runs, make sure that its heartbeats reach the gateway.',
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

describeEachStore('on %s, a task is explained', (_name, open) => {
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

describeEachStore('on %s, a similar tag', (_name, open) => {
  const start = useWorlds(open);

  test('is not looked for when a task is abandoned, but for its readers: among the agents of then', async () => {
    const world = await start();
    await register(world, 'gpu-a');
    const id = await submit(world, { task_tags: ['gpu2'] });
    expect((await world.store.get('task', id))?.value.seenMatch?.tags).toEqual([[0, 0]]);
    await register(world, 'gpu-b');
    const url = await serve(world);
    const similarOf = async () => (await explain(url, id)).match?.tags.map(({ similar }) => similar);
    expect(await similarOf()).toEqual([{ tag: 'gpu', agents: 2, free: 2 }]);
    await register(world, 'gpu-c', { agent_tags: ['gpu2'] });
    expect(await similarOf()).toEqual([{ tag: 'gpu', agents: 2, free: 2 }]);
  });
});

describeEachStore('on %s, a history', (_name, open) => {
  const start = useWorlds(open);

  test('has the acknowledgement that still waited when the task was settled, and when it came', async () => {
    const world = await start();
    await register(world, 'gpu-a');
    const id = await submit(world, gpu);
    await world.clock.advance(100);
    await world.gateway.reportResult({ request_id: id, agent_id: 'gpu-a', status: 'success' });
    const { history } = await explain(await serve(world), id);
    expect(history.map(({ event, agent_id, detail }) => [event, agent_id, detail])).toEqual([
      ['submitted', null, null],
      ['assigned', 'gpu-a', null],
      ['push_taken', 'gpu-a', '202, 0 ms'],
      ['success', 'gpu-a', null],
    ]);
    const [, assigned, taken, success] = history.map(({ time }) => time);
    expect([taken, success]).toEqual([assigned, (assigned ?? 0) + 0.1]);
  });

  test('has the push that got no response in time, and the next one', async () => {
    const world = await start();
    world.pusher.script(urlOf('gpu-a'), 'hang');
    await register(world, 'gpu-a');
    const id = await submit(world, { ...gpu, timeout: 3_600 });
    await world.pass(300_200);
    const error = 'no response within 300 s';
    world.pusher.respond(urlOf('gpu-a'), { kind: 'unknown', status: null, error, retryAfterMs: null });
    await world.pass(2_000);
    expect(world.pusher.sent).toHaveLength(2);
    const { history } = await explain(await serve(world), id);
    expect(history.at(-1)).toMatchObject({
      event: 'push_unknown',
      detail: expect.stringMatching(/^no response within 300 s/),
    });
  });

  test('has the pushes whose outcome is unknown, folded, and is nowhere else', async () => {
    const world = await start();
    world.pusher.script(urlOf('gpu-a'), BROKEN);
    await register(world, 'gpu-a');
    const id = await submit(world, { ...gpu, cli_session_id: 's' });
    await world.pass(4_000);
    const url = await serve(world);
    const { history } = await explain(url, id);
    expect(history.at(-1)).toMatchObject({
      event: 'push_unknown',
      count: 3,
      detail: 'responded with 500, 0 ms',
    });
    const headers = { authorization: `Bearer ${SECRET}` };
    const task = await (await fetch(`${url}/api/cli/tasks/${id}`, { headers })).json();
    expect(Object.keys(task)).toHaveLength(12);
    expect(JSON.stringify(task)).not.toContain('push_unknown');
  });
});
