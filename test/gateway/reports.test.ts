/** The result report, by who sends it, when, and with what. */
import { describe, expect, test } from 'vitest';
import { BUSY, REFUSED } from '../harness/fake-pusher.ts';
import { describeEachStore } from '../harness/stores.ts';
import { buildRegistration, type World } from '../harness/world.ts';
import { read, submit } from '../harness/world-calls.ts';
import { useWorlds } from '../harness/worlds.ts';

describeEachStore('reports on %s', (_name, open) => {
  const start = useWorlds(open);

  test('a late or repeated report returns accepted: false without effect, and only the assignee may report', async () => {
    const world = await start();
    await world.gateway.registerAgent(buildRegistration('A'));
    await world.gateway.registerAgent(buildRegistration('B', { agent_tags: [] }));
    const request_id = await submit(world);
    const report = (agent_id: string, status: 'success' | 'failed' | 'running' = 'success') =>
      world.gateway.reportResult({ request_id, agent_id, status, result: { output: 'x', extra: [1] } });
    await expect(report('B')).rejects.toMatchObject({ code: 'agent_mismatch' });
    await expect(report('unknown')).rejects.toMatchObject({ code: 'agent_not_found' });
    expect(await report('A')).toEqual({ ok: true, request_id, status: 'success', accepted: true });
    expect(await report('A', 'failed')).toEqual({
      ok: true,
      request_id,
      status: 'success',
      accepted: false,
    });
    expect(await report('A', 'running')).toMatchObject({ accepted: false });
    await expect(report('B')).rejects.toMatchObject({ code: 'agent_mismatch' });
    expect(await read(world, request_id)).toMatchObject({
      result: { output: 'x', extra: [1] },
      progress: 100,
    });
    await expect(
      world.gateway.reportResult({ request_id: 'nothing', agent_id: 'A', status: 'success' }),
    ).rejects.toMatchObject({ code: 'task_not_found' });
  });

  test('a progress report acknowledges the task, also from an agent that cannot be reached', async () => {
    const world = await start();
    world.pusher.script('http://A.test/tasks', REFUSED);
    await world.gateway.registerAgent(buildRegistration('A'));
    const request_id = await submit(world);
    await world.gateway.reportResult({ request_id, agent_id: 'A', status: 'running', progress: 30 });
    const pushes = world.pusher.sent.length;
    await world.pass(60_000);
    expect(world.pusher.sent).toHaveLength(pushes);
    expect(await read(world, request_id)).toMatchObject({ progress: 30, status: 'running', result: null });
  });

  test('a heartbeat returns the cancelled tasks; when it names tasks, it returns those of them that it must drop', async () => {
    const world = await start();
    await world.gateway.registerAgent(buildRegistration('A', { max_concurrent: 3 }));
    const first = await submit(world);
    const second = await submit(world, { timeout: 3_600 });
    await world.gateway.cancelTask(first);
    expect(await world.gateway.heartbeatAgent({ agent_id: 'A' })).toMatchObject({
      cancelled_request_ids: [first],
    });
    expect(
      await world.gateway.heartbeatAgent({ agent_id: 'A', request_ids: [first, second, 'unknown'] }),
    ).toMatchObject({ cancelled_request_ids: [first, 'unknown'] });
    await world.pass(601_000);
    expect(await world.gateway.heartbeatAgent({ agent_id: 'A' })).toMatchObject({
      cancelled_request_ids: [],
    });
  });

  /** A task that moved from E to its present agent A; B is registered too. */
  async function startMoved(): Promise<{ world: World; request_id: string }> {
    const world = await start();
    world.pusher.script('http://E.test/tasks', BUSY);
    await world.gateway.registerAgent(buildRegistration('E'));
    const request_id = await submit(world);
    await world.gateway.registerAgent(buildRegistration('A'));
    await world.gateway.registerAgent(buildRegistration('B', { agent_tags: [] }));
    await world.pass(2_000);
    expect(await read(world, request_id)).toMatchObject({ status: 'running', agent_id: 'A' });
    return { world, request_id };
  }

  describe('of a task that moved', () => {
    test.each(['success', 'failed'] as const)(
      '%s counts from an earlier agent, whose id it gets',
      async (status) => {
        const { world, request_id } = await startMoved();
        const report = { request_id, status, progress: 30 };
        expect(await world.gateway.reportResult({ ...report, agent_id: 'E' })).toMatchObject({
          accepted: true,
        });
        const progress = status === 'success' ? 100 : 0;
        expect(await read(world, request_id)).toMatchObject({ status, agent_id: 'E', progress });
        for (const agent_id of ['A', 'E'])
          expect(await world.gateway.reportResult({ ...report, agent_id })).toMatchObject({
            status,
            accepted: false,
          });
      },
    );

    test('running counts from its present agent alone; after the end an earlier one learns of that', async () => {
      const { world, request_id } = await startMoved();
      const report = (agent_id: string) =>
        world.gateway.reportResult({ request_id, agent_id, status: 'running', progress: 30 });
      await expect(report('E')).rejects.toMatchObject({ code: 'agent_mismatch' });
      expect(await read(world, request_id)).toMatchObject({ progress: 0 });
      expect(await report('A')).toMatchObject({ status: 'running', accepted: true });
      await world.gateway.reportResult({ request_id, agent_id: 'A', status: 'failed' });
      for (const agent_id of ['A', 'E'])
        expect(await report(agent_id)).toMatchObject({ status: 'failed', accepted: false });
      await expect(report('B')).rejects.toMatchObject({ code: 'agent_mismatch' });
    });

    test.each(['success', 'failed', 'running'] as const)(
      '%s of another agent is refused, before and after the end',
      async (status) => {
        const { world, request_id } = await startMoved();
        const refuse = async (agent_id: string, code: string) =>
          await expect(world.gateway.reportResult({ request_id, agent_id, status })).rejects.toMatchObject({
            code,
          });
        for (const _ of ['before', 'after']) {
          await refuse('B', 'agent_mismatch');
          await refuse('unknown', 'agent_not_found');
          await world.gateway.reportResult({ request_id, agent_id: 'A', status: 'success' });
        }
      },
    );
  });

  test('an agent that is not registered any more reports what it was assigned', async () => {
    const { world, request_id } = await startMoved();
    for (const agent_id of ['A', 'E', 'B']) await world.gateway.unregisterAgent(agent_id);
    const report = { request_id, status: 'success' } as const;
    await expect(world.gateway.reportResult({ ...report, agent_id: 'B' })).rejects.toMatchObject({
      code: 'agent_not_found',
    });
    expect(await world.gateway.reportResult({ ...report, agent_id: 'E' })).toMatchObject({ accepted: true });
  });

  test.each([null, undefined, ''])(
    'failed with error_info %j gets the usual text, and its progress counts',
    async (error_info) => {
      const world = await start();
      await world.gateway.registerAgent(buildRegistration('A'));
      const request_id = await submit(world);
      const report = { request_id, agent_id: 'A' };
      await world.gateway.reportResult({ ...report, status: 'running', progress: 20 });
      await world.gateway.reportResult({
        ...report,
        status: 'failed',
        progress: 70,
        result: { output: 'x' },
        ...(error_info !== undefined && { error_info }),
      });
      expect(await read(world, request_id)).toMatchObject({
        status: 'failed',
        progress: 70,
        result: null,
        error_info: 'agent reported failure',
      });
    },
  );

  test('progress never falls, also not with a failure, and the first reply joins a result without one', async () => {
    const world = await start();
    await world.gateway.registerAgent(buildRegistration('A', { max_concurrent: 3 }));
    const [failed, done, replied] = [await submit(world), await submit(world), await submit(world)];
    for (const request_id of [failed, done, replied]) {
      const report = { request_id, agent_id: 'A', status: 'running' } as const;
      await world.gateway.reportResult({ ...report, progress: 60, result: { reply: 'first' } });
      await world.gateway.reportResult({ ...report, progress: 40, result: { reply: 'second' } });
      expect(await read(world, request_id)).toMatchObject({ progress: 60, result: null });
    }
    await world.gateway.reportResult({ request_id: failed, agent_id: 'A', status: 'failed', progress: 10 });
    await world.gateway.reportResult({ request_id: done, agent_id: 'A', status: 'success', result: null });
    expect(await read(world, failed)).toMatchObject({ progress: 60, result: null });
    expect(await read(world, done)).toMatchObject({ progress: 100, result: { reply: 'first' } });
    const last = {
      request_id: replied,
      agent_id: 'A',
      status: 'success',
      result: { reply: 'last' },
    } as const;
    await world.gateway.reportResult(last);
    expect((await read(world, replied)).result).toEqual({ reply: 'last' });
  });
});
