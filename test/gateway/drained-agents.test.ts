/** Agents that the administrator drains, on each engine: what they get, what ends it, who says so. */
import { expect, test } from 'vitest';
import { describeEachStore } from '../harness/stores.ts';
import { buildRegistration, NEVER, type World } from '../harness/world.ts';
import { agentOf, ownerOf, pushesTo, read, submit, submitLong } from '../harness/world-calls.ts';
import { useWorlds } from '../harness/worlds.ts';

async function register(world: World, agent_id: string, more = {}): Promise<void> {
  await world.gateway.registerAgent(buildRegistration(agent_id, { max_concurrent: 5, ...more }));
  await world.runUntilIdle();
}

/** Claims a task, and says in which state the agent is then. */
async function claim(world: World, wait = 0) {
  let state: string | undefined;
  const task = await world.gateway.claimTask({ agent_id: 'A', wait }, NEVER, (found) => {
    state = found.state;
  });
  return { request_id: task?.request_id, state };
}

describeEachStore('on %s', (_name, open) => {
  const start = useWorlds(open);

  test('a drained push agent finishes what it has and is pushed nothing else; others get the rest', async () => {
    const world = await start();
    await register(world, 'A');
    const first = await submit(world);
    const drained = await world.gateway.drainAgent('A', true);
    expect(drained).toMatchObject({ agent_id: 'A', state: 'draining', drained_by_operator: true });
    expect(drained).toMatchObject({ eligible: false, slots: [{ request_id: first }] });
    expect(await read(world, await submit(world))).toMatchObject({ error_info: '无可用 Agent' });
    await register(world, 'B');
    expect(await ownerOf(world, await submit(world))).toBe('B');
    expect(pushesTo(world, 'A')).toBe(1);
    const report = { request_id: first, agent_id: 'A', status: 'success' } as const;
    expect(await world.gateway.reportResult(report)).toMatchObject({ accepted: true });
  });

  test('neither the agent’s own `draining: false` nor a registration ends the drain, also after it unregistered', async () => {
    const world = await start();
    await register(world, 'A');
    await world.gateway.drainAgent('A', true);
    const beat = { agent_id: 'A', draining: false };
    expect(await world.gateway.heartbeatAgent(beat)).toMatchObject({ state: 'draining' });
    const again = await world.gateway.registerAgent(buildRegistration('A'));
    expect(again).toMatchObject({ state: 'draining' });
    await world.gateway.unregisterAgent('A');
    expect(await world.gateway.registerAgent(buildRegistration('A'))).toMatchObject({ state: 'draining' });
    expect(await read(world, await submit(world))).toMatchObject({ error_info: '无可用 Agent' });
    expect(await world.gateway.drainAgent('A', false)).toMatchObject({ state: 'ready', eligible: true });
    expect(await ownerOf(world, await submit(world))).toBe('A');
  });

  test('a drain beside a registration holds, whichever is stored first', async () => {
    const world = await start();
    await register(world, 'A');
    for (const draining of [true, false]) {
      const drain = () => world.gateway.drainAgent('A', draining);
      const again = () => world.gateway.registerAgent(buildRegistration('A'));
      await Promise.all([drain(), again()]);
      expect(await agentOf(world, 'A')).toMatchObject({ drained_by_operator: draining });
      await world.gateway.drainAgent('A', !draining);
      await Promise.all([again(), drain()]);
      expect(await agentOf(world, 'A')).toMatchObject({ drained_by_operator: draining });
    }
  });

  test('a drain is forgotten with the agent', async () => {
    const world = await start();
    await register(world, 'A');
    await world.gateway.drainAgent('A', true);
    await world.gateway.unregisterAgent('A');
    await world.pass(100_000);
    expect(await world.gateway.registerAgent(buildRegistration('A'))).toMatchObject({ state: 'ready' });
  });

  test('the end of a drain leaves the agent’s own draining, and the end of that the drain', async () => {
    const world = await start();
    await register(world, 'A');
    await world.gateway.drainAgent('A', true);
    await world.gateway.heartbeatAgent({ agent_id: 'A', draining: true });
    const undrained = await world.gateway.drainAgent('A', false);
    expect(undrained).toMatchObject({ state: 'draining', drained_by_operator: false });
    const beat = { agent_id: 'A', draining: false };
    expect(await world.gateway.heartbeatAgent(beat)).toMatchObject({ state: 'ready' });
  });

  test('a claim that waits when the drain comes gets nothing, and waiting tasks come at once when it ends', async () => {
    const world = await start();
    await register(world, 'A', { endpoint: 'pull' });
    const waiting = claim(world, 10);
    await world.pass(1_000);
    await world.gateway.drainAgent('A', true);
    const queued = await submitLong(world, { queue_timeout: 600 });
    await world.pass(10_000);
    expect(await waiting).toEqual({ request_id: undefined, state: 'draining' });
    expect(await claim(world)).toEqual({ request_id: undefined, state: 'draining' });
    expect(await read(world, queued)).toMatchObject({ status: 'pending' });
    const next = claim(world, 30);
    await world.pass(1_000);
    await world.gateway.drainAgent('A', false);
    await world.pass(1_000);
    expect(await next).toEqual({ request_id: queued, state: 'processing' });
  });

  test('to drain twice, or to end no drain, changes nothing', async () => {
    const world = await start();
    await register(world, 'A');
    const revision = async () => (await world.store.getAgentStatus('A'))?.revision;
    const before = await revision();
    expect(await world.gateway.drainAgent('A', false)).toMatchObject({ drained_by_operator: false });
    expect(await revision()).toEqual(before);
    await world.gateway.drainAgent('A', true);
    const drained = await revision();
    expect(await world.gateway.drainAgent('A', true)).toMatchObject({ drained_by_operator: true });
    expect(await revision()).toEqual(drained);
  });

  test('only the record of a drained agent says so, and until it is drained no more', async () => {
    const world = await start();
    await register(world, 'A');
    const fields = async () => Object.keys((await world.store.getAgentStatus('A'))?.record ?? {});
    const before = await fields();
    expect(before).not.toContain('drained_by_operator');
    await world.gateway.drainAgent('A', true);
    await world.pass(31_000);
    await register(world, 'A');
    expect((await fields()).toSorted()).toEqual([...before, 'drained_by_operator'].toSorted());
    await world.gateway.drainAgent('A', false);
    expect(await fields()).toEqual(before);
    expect(await agentOf(world, 'A')).toMatchObject({ state: 'ready', drained_by_operator: false });
  });

  test('an unknown agent is not found, and where the console is read-only nothing is drained', async () => {
    const world = await start();
    await expect(world.gateway.drainAgent('A', true)).rejects.toMatchObject({ code: 'agent_not_found' });
    await register(world, 'A');
    await world.gateway.unregisterAgent('A');
    await expect(world.gateway.drainAgent('A', true)).rejects.toMatchObject({ code: 'agent_not_found' });
    const looking = await start({ consoleMode: 'read-only' });
    await register(looking, 'A');
    await expect(looking.gateway.drainAgent('A', true)).rejects.toMatchObject({ code: 'read_only' });
    expect(await agentOf(looking, 'A')).toMatchObject({ state: 'ready' });
  });

  test('the overview and the explanation of a task say who drained the agent, and how that ends', async () => {
    const world = await start();
    await register(world, 'A');
    await register(world, 'own');
    await world.gateway.heartbeatAgent({ agent_id: 'own', draining: true });
    await world.gateway.drainAgent('A', true);
    await world.runUntilIdle();
    const { problems } = await world.gateway.getOverview(10);
    expect(problems.filter(({ code }) => code === 'agent_drained')).toMatchObject([
      {
        severity: 'note',
        agent_id: 'A',
        text: '`A` is drained by the administrator: it gets no new tasks.',
        help: expect.stringContaining('`task-gateway agent drain ID --undo`'),
      },
    ]);
    for (const request_id of [await submit(world), await submit(world, { queue_timeout: 600 })]) {
      const { match, ...advice } = await world.gateway.explainTask(request_id);
      expect(advice.hint).toContain('Of the draining ones 1 is drained by the administrator: `A`.');
      expect(advice.hint).toContain('`task-gateway agent drain ID --undo`');
      expect(advice.remedies[0]).toMatchObject({ kind: 'end_draining', agent_id: 'A' });
      const drained = match?.agents.map(({ agent_id, drained_by_operator }) => [
        agent_id,
        drained_by_operator,
      ]);
      expect(drained).toEqual(
        expect.arrayContaining([
          ['A', true],
          ['own', false],
        ]),
      );
    }
    await world.gateway.drainAgent('A', false);
    // A reading is shared for a second.
    await world.pass(1_000);
    const after = (await world.gateway.getOverview(10)).problems;
    expect(after.some(({ code }) => code === 'agent_drained')).toBe(false);
  });
});
