/** Who fails: failures by cause, the list of just these tasks, and the problems that name the guilty. */
import { describe, expect, test } from 'vitest';
import type { OverviewProblem } from '../../server/ports/admin.ts';
import { GONE } from '../harness/fake-pusher.ts';
import { countTasks } from '../harness/listings.ts';
import { describeEachStore, QUICK_STORES } from '../harness/stores.ts';
import type { World } from '../harness/world.ts';
import { passOnline, registerAnswering, submit, submitLong } from '../harness/world-calls.ts';
import { useWorlds } from '../harness/worlds.ts';

/** Longer than a reading of the overview is shared. */
const UNSHARED_MS = 1_100;
const FAILED = { outcome: ['failed', 'timeout', 'agent_lost'] } as const;

const register = (world: World, agent_id: string, more = {}): Promise<void> =>
  registerAnswering(world, agent_id, undefined, { agent_tags: [agent_id], ...more });

/** Lets the agent end a task of the type; without an error with success. */
async function end(world: World, agent_id: string, task_type: string, error?: string): Promise<string> {
  const request_id = await submitLong(world, { task_tags: [agent_id], task_type });
  const report = { request_id, agent_id, status: error === undefined ? 'success' : 'failed' } as const;
  await world.gateway.reportResult(error === undefined ? report : { ...report, error_info: error });
  await world.clock.advance(1_000);
  return request_id;
}

async function readOverview(world: World) {
  await world.pass(UNSHARED_MS);
  return await world.gateway.getOverview(100);
}

/** The problems that are not about the secrets, each as its severity, code, agent or tag, and type. */
async function readProblems(world: World): Promise<readonly string[]> {
  return (await readOverview(world)).problems.map(shorten);
}

const shorten = ({ severity, code, agent_id, tag, task_type }: OverviewProblem): string =>
  [severity, code, agent_id ?? tag ?? '', task_type ?? ''].join(' ').trim();

describeEachStore('on %s', (_name, open) => {
  const start = useWorlds(open);

  test('failures are grouped by type, agent and error, and the list has just these tasks', async () => {
    const world = await start();
    await register(world, 'a', { max_concurrent: 5 });
    await register(world, 'b');
    const ids = [
      await end(world, 'a', 'render', 'timed out after 12000 ms'),
      await end(world, 'a', 'render', 'timed out after 11000 ms'),
      await end(world, 'b', 'render', 'no space left'),
    ];
    await end(world, 'a', 'render');
    const cancelled = await submitLong(world, { task_tags: ['a'], task_type: 'render' });
    await world.gateway.cancelTask(cancelled);
    await submit(world, { task_tags: ['nobody'] });
    const { failures, ended, series, time } = await readOverview(world);
    expect(failures).toMatchObject({ since: null, ended: 4, failed: 3, groups_total: 2 });
    expect(failures.groups).toMatchObject([
      {
        task_type: 'render',
        agent_id: 'a',
        outcome: 'failed',
        error: 'timed out after 11000 ms',
        count: 2,
        ended: 3,
        request_id: ids[1],
      },
      { agent_id: 'b', error: 'no space left', count: 1, ended: 1, request_id: ids[2] },
    ]);
    const [first] = failures.groups;
    expect((first?.last_time ?? 0) - (first?.first_time ?? 0)).toBeCloseTo(1, 1);
    // One number everywhere.
    expect(ended.failed + ended.timeout + ended.agent_lost).toBe(failures.failed);
    expect(series.failed.reduce((sum, count) => sum + count, 0)).toBe(failures.failed);
    const filter = { ...FAILED, ended_after: time - 900 };
    const { tasks, counts } = await world.gateway.listTasks({ ...filter, limit: 100, counts: true });
    expect(tasks.map(({ request_id }) => request_id)).toEqual(ids.toReversed());
    expect(counts).toMatchObject({ total: 3, complete: true });
    const ofGroup = { ...filter, type: 'render', agent: 'a', error: 'timed out after 7 ms' };
    expect((await countTasks(world.gateway, ofGroup)).total).toBe(2);
    expect((await countTasks(world.gateway, { error: 'no space left' })).total).toBe(1);
    expect((await countTasks(world.gateway, { error: 'no space' })).total).toBe(0);
  });

  test('the list of what ended comes last end first, page by page, each task once', async () => {
    const world = await start();
    await register(world, 'a', { max_concurrent: 9 });
    const running: string[] = [];
    for (let n = 0; n < 5; n += 1) running.push(await submitLong(world, { task_tags: ['a'] }));
    const ended = running.toReversed();
    for (const request_id of ended) {
      await world.gateway.reportResult({ request_id, agent_id: 'a', status: 'failed' });
      await world.clock.advance(1_000);
    }
    const ids: string[] = [];
    let cursor: string | undefined;
    do {
      const query = { ...FAILED, ended_after: 0, limit: 2, ...(cursor && { cursor }) };
      const page = await world.gateway.listTasks(query);
      ids.push(...page.tasks.map(({ request_id }) => request_id));
      // A task that ends between two pages is on neither.
      if (cursor === undefined) await end(world, 'a', 'late', 'broken');
      cursor = page.next_cursor ?? undefined;
    } while (cursor !== undefined);
    expect(ids).toEqual(ended.toReversed());
    const lastTwo = (await world.gateway.listTasks({ limit: 9, ended_after: 0 })).tasks.slice(0, 2);
    const ended_after = lastTwo[1]?.ended_time ?? 0;
    expect((await countTasks(world.gateway, { ended_after })).total).toBe(2);
    expect((await countTasks(world.gateway, { ended_after: ended_after + 0.001 })).total).toBe(1);
    expect((await countTasks(world.gateway, { ended_after: 0, status: ['running'] })).total).toBe(0);
    // Counted by what is kept of them, and by looking at them: the same.
    for (const more of [
      {},
      FAILED,
      { type: 'late' },
      { error: 'broken' },
      { status: ['success'] as const },
    ]) {
      const kept = await countTasks(world.gateway, { ended_after: 0, ...more });
      expect(await countTasks(world.gateway, { ended_after: 0, created_after: 0, ...more })).toEqual(kept);
    }
  });

  test('an agent that fails five of a type in a row is named, and not after a success', async () => {
    const world = await start();
    await register(world, 'a');
    await register(world, 'b');
    await end(world, 'b', 'render');
    for (let n = 0; n < 4; n += 1) await end(world, 'a', 'render', `no space left on /tmp/${n}`);
    expect(await readProblems(world)).toEqual([]);
    const last = await end(world, 'a', 'render', 'no space left on /tmp/9.');
    const [problem, ...others] = (await readOverview(world)).problems;
    expect(others).toEqual([]);
    expect(problem).toMatchObject({
      severity: 'problem',
      code: 'agent_failing',
      agent_id: 'a',
      task_type: 'render',
      request_id: last,
      count: 5,
      text: '`a` fails `render`: 5 in a row, the last with: no space left on /tmp/9.',
      help: `Other agents succeed at it: restart this one, or drain it with \`task-gateway agent drain ID\` or on its page in the console. One of the tasks is \`${last}\`.`,
    });
    await end(world, 'a', 'render');
    expect(await readProblems(world)).toEqual([]);
  });

  test('an agent that fails half of ten is named, of nine not; tasks of other types do not count', async () => {
    const world = await start();
    await register(world, 'a');
    for (let n = 0; n < 4; n += 1) {
      await end(world, 'a', 'render', 'broken');
      await end(world, 'a', 'render');
    }
    for (let n = 0; n < 4; n += 1) await end(world, 'a', 'other', 'broken');
    await end(world, 'a', 'render');
    expect(await readProblems(world)).toEqual([]);
    await end(world, 'a', 'render', 'broken');
    expect(await readProblems(world)).toEqual(['problem agent_failing a render']);
    expect((await readOverview(world)).problems[0]?.text).toContain('5 of 10, the last with: broken.');
    await end(world, 'a', 'render');
    expect(await readProblems(world)).toEqual([]);
  });

  test('five minutes after its last failure it is a warning, and gone with the window', async () => {
    const world = await start();
    await register(world, 'a');
    for (let n = 0; n < 5; n += 1) await end(world, 'a', 'render', 'broken');
    await passOnline(world, 4 * 60_000, 'a');
    expect(await readProblems(world)).toEqual(['problem agent_failing a render']);
    await passOnline(world, 70_000, 'a');
    expect(await readProblems(world)).toEqual(['warning agent_failing a render']);
    await passOnline(world, 11 * 60_000, 'a');
    const { failures, problems } = await readOverview(world);
    expect([failures.failed, problems]).toEqual([0, []]);
  });

  test('a type that fails at all of two agents is named instead of them, and at one of two not', async () => {
    const world = await start();
    for (const agent_id of ['a', 'b']) await register(world, agent_id);
    for (let n = 0; n < 5; n += 1) await end(world, 'a', 'render', 'bad input');
    await end(world, 'b', 'render');
    expect(await readProblems(world)).toEqual(['problem agent_failing a render']);
    for (let n = 0; n < 5; n += 1) await end(world, 'b', 'render', 'bad input');
    const { problems } = await readOverview(world);
    expect(problems.map(shorten)).toEqual(['problem type_failing  render']);
    expect(problems[0]).toMatchObject({ count: 10, agent_id: null });
    expect(problems[0]?.text).toBe('`render` fails at all 2 agents: 10 of 11, the last with: bad input.');
  });

  test('a type that fails at its only agent is the problem of the agent, until that unregisters', async () => {
    const world = await start();
    await register(world, 'a');
    for (let n = 0; n < 12; n += 1) await end(world, 'a', 'render', 'bad input');
    expect(await readProblems(world)).toEqual(['problem agent_failing a render']);
    await world.gateway.unregisterAgent('a');
    expect(await readProblems(world)).toEqual([]);
  });

  test('an agent that vanished is named with the tasks that it lost, for a quarter of an hour', async () => {
    const world = await start();
    await register(world, 'a', { lost_after: 30, max_concurrent: 2 });
    for (const task_type of ['render', 'scan']) await submitLong(world, { task_tags: ['a'], task_type });
    await world.pass(40_000);
    const { problems } = await readOverview(world);
    const problem = problems.find(({ code }) => code === 'agent_silent');
    expect(problem).toMatchObject({ severity: 'warning', code: 'agent_silent', agent_id: 'a', count: 2 });
    expect(problem?.text).toMatch(
      /^`a` has been silent for \d+ s: it went offline without unregistering and lost 2 tasks\.$/,
    );
    await world.pass(13 * 60_000);
    expect(await readProblems(world)).toContain('warning agent_silent a');
    await world.pass(3 * 60_000);
    expect(await readProblems(world)).not.toContain('warning agent_silent a');
  });

  test('an agent that drained, unregistered, answered 410 or came back has not vanished', async () => {
    const world = await start();
    for (const agent_id of ['drains', 'leaves', 'back']) await register(world, agent_id);
    await registerAnswering(world, 'gone', GONE, { agent_tags: ['gone'] });
    await submit(world, { task_tags: ['gone'], timeout: 1 });
    for (const agent_id of ['drains', 'back'])
      await world.gateway.heartbeatAgent({ agent_id, draining: agent_id === 'drains' });
    await world.gateway.unregisterAgent('leaves');
    await world.pass(100_000);
    expect(await readProblems(world)).toContain('warning agent_silent back');
    await world.gateway.heartbeatAgent({ agent_id: 'back' });
    expect((await readProblems(world)).filter((one) => one.includes('agent_silent'))).toEqual([]);
  });

  test('an agent that is offline with tasks is a problem; its failures are not another one', async () => {
    const world = await start();
    await register(world, 'a', { max_concurrent: 9 });
    await world.gateway.heartbeatAgent({ agent_id: 'a' });
    for (let n = 0; n < 5; n += 1) await end(world, 'a', 'render', 'broken');
    const holds = await submitLong(world, { task_tags: ['a'], task_type: 'render' });
    await world.gateway.reportResult({ request_id: holds, agent_id: 'a', status: 'running' });
    await world.pass(100_000);
    const found = await readProblems(world);
    expect(found).toContain('problem agent_silent a');
    expect(found.filter((one) => one.includes('failing'))).toEqual([]);
    const { problems } = await readOverview(world);
    const { text } = problems.find(({ code }) => code === 'agent_silent') ?? {};
    expect(text).toBe('`a` is offline and has 1 task. Before, 5 of its 5 `render` failed: broken.');
  });

  test('an agent that vanished after its tasks had failed is named with their cause', async () => {
    const world = await start();
    await register(world, 'a');
    await world.gateway.heartbeatAgent({ agent_id: 'a' });
    for (let n = 0; n < 3; n += 1) await end(world, 'a', 'render', `no space for ${n} KB`);
    await world.pass(100_000);
    const { problems } = await readOverview(world);
    const silent = problems.filter(({ code }) => code === 'agent_silent');
    expect(silent.map(({ text, help }) => [text, help])).toEqual([
      [
        expect.stringMatching(
          / without unregistering\. Before, 3 of its 3 `render` failed: no space for 2 KB\.$/,
        ),
        'Mend what failed before first. Then start it again.',
      ],
    ]);
  });

  test('a tag that was asked for once is a note with its age; red again while tasks keep failing', async () => {
    const world = await start();
    await submit(world, { task_tags: ['gpu2', 'zh-em'] });
    await world.pass(3 * 60_000);
    const { problems } = await readOverview(world);
    expect(problems.map(shorten)).toEqual(['note tag_without_agent gpu2']);
    expect(problems[0]?.text).toMatch(
      /^No agent has any of the tags `gpu2`, `zh-em`\. 1 task ended without an agent, 3 min( 1 s)? ago\.$/,
    );
    expect(problems[0]?.since).toBeLessThan(world.store.nowMs() / 1_000 - 180);
    await submit(world, { task_tags: ['gpu2'] });
    expect(await readProblems(world)).toEqual([
      'problem tag_without_agent gpu2',
      'note tag_without_agent zh-em',
    ]);
    await world.pass(3 * 60_000);
    expect(await readProblems(world)).toEqual([
      'note tag_without_agent gpu2',
      'note tag_without_agent zh-em',
    ]);
    await submit(world, { task_tags: ['gpu2'], queue_timeout: 600 });
    expect((await readProblems(world))[0]).toBe('problem tag_without_agent gpu2');
  });

  test('tags of one waiting task are one problem, those of two tasks are two', async () => {
    const world = await start();
    await submit(world, { task_tags: ['one', 'two'], queue_timeout: 600 });
    const [problem, ...others] = (await readOverview(world)).problems;
    expect(others).toEqual([]);
    expect(problem?.text).toMatch(/^No agent has any of the tags `one`, `two`\. 1 task waits, for /);
    await submit(world, { task_tags: ['three'], queue_timeout: 600 });
    expect((await readOverview(world)).problems).toHaveLength(2);
  });
});

describe.each(QUICK_STORES)('on %s, of more than 500 tasks that ended', (_name, open) => {
  const start = useWorlds(open);

  test('the last 500 count, and both the overview and the list say so', async () => {
    const world = await start({ openTasksMax: 2_000 });
    await register(world, 'a', { max_concurrent: 2_000 });
    for (let n = 0; n < 510; n += 1) {
      const request_id = await submitLong(world, { task_tags: ['a'], task_type: 'render' });
      const error_info = `bad ${String.fromCharCode(0x4e00 + n)}`;
      await world.gateway.reportResult({ request_id, agent_id: 'a', status: 'failed', error_info });
    }
    const { failures, time } = await readOverview(world);
    expect(failures).toMatchObject({ ended: 500, failed: 500, groups_total: 500 });
    expect(failures.since).not.toBeNull();
    expect(failures.groups).toHaveLength(50);
    const counts = await countTasks(world.gateway, { ...FAILED, ended_after: time - 900 });
    expect([counts.total, counts.complete]).toEqual([500, false]);
    const since = { ...FAILED, ended_after: (failures.since ?? 0) + 0.001 };
    expect((await countTasks(world.gateway, since)).complete).toBe(true);
  });
});
