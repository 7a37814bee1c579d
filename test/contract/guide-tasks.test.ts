/**
 * The guide's tables of tasks, agents and deliveries say what the gateway does: each row is carried out, and
 * what the row says is compared with what is there afterwards.
 */
import { describe, expect, test } from 'vitest';
import { type AgentAvailability, wantsToMove } from '../../server/domain/delivery.ts';
import type { Delivery, TaskInfo } from '../../server/domain/task.ts';
import { classifyResponse } from '../../server/push/response-outcome.ts';
import { BROKEN, GONE, REFUSED } from '../harness/fake-pusher.ts';
import { QUICK_STORES } from '../harness/stores.ts';
import { buildRegistration, type World } from '../harness/world.ts';
import { agentOf, read, submit } from '../harness/world-calls.ts';
import { useWorlds } from '../harness/worlds.ts';
import { readTable } from './guide.ts';

const [[, openPlainStore]] = QUICK_STORES as [(typeof QUICK_STORES)[number]];

const report = (request_id: string, status: 'running' | 'success' | 'failed', agent_id = 'A') => ({
  request_id,
  agent_id,
  status,
  ...(status === 'failed' && { error_info: 'its text' }),
});

/** Registers A, and submits a task that A has. */
async function startRunning(world: World, more = {}): Promise<string> {
  await world.gateway.registerAgent(buildRegistration('A', more));
  return await submit(world);
}

async function startEnded(world: World): Promise<string> {
  const id = await startRunning(world);
  await world.gateway.reportResult(report(id, 'success'));
  return id;
}

const pending = (world: World): Promise<string> => submit(world, { queue_timeout: 300, timeout: 300 });

/** How each row comes about, by its columns `From` and `Cause`: resolves with the task's id. */
const CAUSES: Readonly<Record<string, (world: World) => Promise<string>>> = {
  '`pending`: an agent qualifies': async (world) => {
    const id = await pending(world);
    await world.gateway.registerAgent(buildRegistration('A'));
    await world.runUntilIdle();
    expect(world.pusher.sent.map(({ task }) => task.request_id)).toEqual([id]);
    return id;
  },
  '`pending`: no agent qualifies (after `queue_timeout`, if there is one)': async (world) => {
    const waits = await submit(world, { queue_timeout: 5 });
    expect(await read(world, waits)).toMatchObject({ status: 'pending' });
    await world.pass(6_000);
    expect(await read(world, waits)).toMatchObject({ status: 'failed', error_info: '无可用 Agent' });
    return await submit(world);
  },
  '`pending`: `cancelTask`': async (world) => {
    const id = await pending(world);
    await world.gateway.cancelTask(id);
    return id;
  },
  '`pending`: `timeout` is over': async (world) => {
    const id = await pending(world);
    await world.pass(301_000);
    return id;
  },
  '`running`: the task moves (see "When a running task moves")': async (world) => {
    world.pusher.script('http://A.test/tasks', GONE);
    const id = await startRunning(world);
    await world.gateway.registerAgent(buildRegistration('B'));
    await world.runUntilIdle();
    const beat = await world.gateway.heartbeatAgent({ agent_id: 'A', request_ids: [id] });
    expect(beat.cancelled_request_ids).toEqual([id]);
    return id;
  },
  '`running`: `reportResult` with `running`': async (world) => {
    const id = await startRunning(world);
    expect(await world.gateway.reportResult(report(id, 'running'))).toMatchObject({ accepted: true });
    return id;
  },
  '`running`: `reportResult` with `success`': async (world) => {
    const id = await startRunning(world);
    expect(await world.gateway.reportResult(report(id, 'success'))).toMatchObject({ accepted: true });
    return id;
  },
  '`running`: `reportResult` with `failed`': async (world) => {
    const id = await startRunning(world);
    expect(await world.gateway.reportResult(report(id, 'failed'))).toMatchObject({ accepted: true });
    return id;
  },
  '`running`: `cancelTask`': async (world) => {
    const id = await startRunning(world);
    await world.gateway.cancelTask(id);
    await expectCancelled(world, id);
    return id;
  },
  '`running`: `timeout` is over': async (world) => {
    const id = await startRunning(world);
    await world.pass(601_000);
    await expectCancelled(world, id);
    return id;
  },
  '`running`: no contact for `lost_after`': async (world) => {
    const id = await startRunning(world, { lost_after: 30 });
    await world.pass(33_000);
    await expectCancelled(world, id);
    return id;
  },
  '`success`, `failed`: `reportResult`': async (world) => {
    const id = await startEnded(world);
    const before = await read(world, id);
    expect(await world.gateway.reportResult(report(id, 'failed'))).toMatchObject({ accepted: false });
    expect(await read(world, id)).toEqual(before);
    return id;
  },
  '`success`, `failed`: `cancelTask`': async (world) => {
    const id = await startEnded(world);
    const before = await read(world, id);
    await expect(world.gateway.cancelTask(id)).rejects.toMatchObject({ code: 'task_terminal' });
    expect(await read(world, id)).toEqual(before);
    return id;
  },
};

async function expectCancelled(world: World, id: string): Promise<void> {
  expect((await world.gateway.heartbeatAgent({ agent_id: 'A' })).cancelled_request_ids).toEqual([id]);
}

/** What the words of the columns stand for, of a task that was A's. */
const AGENT_IDS: Readonly<Record<string, string | null>> = {
  null: null,
  'that agent': 'A',
  'the other agent': 'B',
  unchanged: 'A',
  'the agent that reported': 'A',
};
const ERROR_TEXTS: Readonly<Record<string, RegExp | null>> = {
  null: null,
  unchanged: null,
  'its text': /^its text$/,
  '`无可用 Agent`': /^无可用 Agent$/,
  '`cancelled by user`': /^cancelled by user$/,
  '`timeout`': /^timeout$/,
  '`agent lost: no contact for N s`': /^agent lost: no contact for \d+ s$/,
};

describe('the life of a task', () => {
  const start = useWorlds(openPlainStore);
  const rows = readTable('The life of a task');

  test('each row has a cause here, and each cause a row', () => {
    expect(rows.map((row) => `${row.From}: ${row.Cause}`)).toEqual(Object.keys(CAUSES));
  });

  test.each(rows)('$From: $Cause', async (row) => {
    const world = await start();
    const bring = CAUSES[`${row.From}: ${row.Cause}`];
    if (!bring) throw new Error('The row has no cause here.');
    const task: TaskInfo = await read(world, await bring(world));
    expect(task.status).toBe(row.To === 'unchanged' ? 'success' : row.To?.replaceAll('`', ''));
    expect(task.agent_id).toBe(AGENT_IDS[row['`agent_id`'] ?? '']);
    const text = ERROR_TEXTS[row['`error_info`'] ?? ''];
    if (text === undefined) throw new Error(`What is meant by ${row['`error_info`']}?`);
    if (text === null) expect(task.error_info).toBeNull();
    else expect(task.error_info).toMatch(text);
  });
});

describe('the life of an agent', () => {
  const start = useWorlds(openPlainStore);
  const rows = readTable('The life of an agent');
  const reached: Readonly<Record<string, (world: World) => Promise<unknown>>> = {
    ready: (world) => world.gateway.registerAgent(buildRegistration('A', { max_concurrent: 2 })),
    processing: (world) => startRunning(world, { max_concurrent: 2 }),
    draining: async (world) => {
      await startRunning(world, { max_concurrent: 2 });
      await world.gateway.heartbeatAgent({ agent_id: 'A', draining: true });
    },
    offline: async (world) => {
      await startRunning(world, { max_concurrent: 2 });
      await world.gateway.heartbeatAgent({ agent_id: 'A' });
      await world.pass(95_000);
    },
  };

  test('each state has a row', () => {
    expect(rows.map(({ State }) => State?.replaceAll('`', ''))).toEqual(Object.keys(reached));
  });

  test.each(rows)('$State gets tasks: $Gets tasks', async (row) => {
    const world = await start();
    const state = (row.State ?? '').replaceAll('`', '');
    await reached[state]?.(world);
    expect(await agentOf(world, 'A')).toMatchObject({ state, full: false });
    const { status } = await read(world, await submit(world, { timeout: 3_600 }));
    expect(status).toBe(row['Gets tasks']?.startsWith('no') ? 'failed' : 'running');
  });
});

describe('delivery', () => {
  const start = useWorlds(openPlainStore);
  const [response, means] = ["The agent's response to a push", 'Means'];
  const rows = readTable('Delivery');

  /** What the table says of a status: the row that names it, or its class without those named elsewhere. */
  function findMeaning(status: number): string {
    const named = rows.find((row) =>
      new RegExp(`(?<!but )\\b${status}\\b(?! seconds)`).test(row[response] ?? ''),
    );
    const ofClass = rows.find((row) => row[response]?.includes(`${Math.floor(status / 100)}xx`));
    return (named ?? ofClass)?.[means] ?? '';
  }

  test('says of every status what the gateway takes it for', () => {
    for (let status = 200; status < 600; status += 1) {
      const outcome = classifyResponse(status, undefined, 0);
      const meaning =
        outcome.kind === 'untaken'
          ? `not taken${outcome.busy ? ': busy' : outcome.leave ? ': gone' : ''}`
          : { acknowledged: 'taken', unknown: 'unknown' }[outcome.kind];
      expect(findMeaning(status), String(status)).toBe(meaning);
    }
  });

  test('lets every response that is not "taken" lengthen the pause, by seconds or until a date', () => {
    const nowMs = Date.parse('2026-01-01T00:00:00Z');
    for (let status = 200; status < 600; status += 1) {
      for (const asked of ['7', 'Thu, 01 Jan 2026 00:00:07 GMT']) {
        const outcome = classifyResponse(status, asked, nowMs);
        if (outcome.kind !== 'acknowledged') expect(outcome.retryAfterMs, `${status}`).toBe(7_000);
      }
    }
  });

  test('a task that was not taken moves after 3 attempts and 10 s; one that may be taken after 90 s', async () => {
    for (const [outcome, untilMs] of [
      [REFUSED, 10_000],
      [BROKEN, 90_000],
    ] as const) {
      const world = await start();
      world.pusher.script('http://A.test/tasks', outcome);
      await world.gateway.registerAgent(buildRegistration('A', { max_concurrent: 5 }));
      const id = await submit(world);
      await world.gateway.registerAgent(buildRegistration('B'));
      if (outcome === BROKEN) await world.gateway.unregisterAgent('A');
      await world.pass(untilMs - 5_000);
      expect(await read(world, id)).toMatchObject({ agent_id: 'A' });
      await world.pass(40_000);
      expect(await read(world, id)).toMatchObject({ agent_id: 'B' });
    }
  });
});

describe('when a running task moves', () => {
  const untaken: Delivery = {
    assignedMs: 0,
    attempts: 1,
    untaken: 1,
    attemptMs: 0,
    acknowledged: false,
    disowned: 0,
    nextMs: null,
    busy: [],
    pull: false,
  };
  const there = { unavailableSinceMs: null, pull: false };
  const gone = { unavailableSinceMs: 0, pull: false };
  /** By the rows' first words: what is stored, of which agent, and from when on the task may move. */
  const cases: readonly (readonly [begins: string, Delivery, AgentAvailability, fromMs: number | null])[] = [
    ['taken it', { ...untaken, untaken: 0, acknowledged: true }, gone, null],
    ['may have taken it', { ...untaken, attempts: 4, untaken: 3 }, gone, 90_000],
    ['not taken it, and is', untaken, gone, 0],
    ['not taken it: its last', { ...untaken, busy: [{ agent_id: 'A', untilMs: 30_000 }] }, there, 0],
    ['not taken it otherwise', { ...untaken, attempts: 3, untaken: 3 }, there, 10_000],
    ['not claimed it', { ...untaken, attempts: 0, untaken: 0, pull: true }, { ...there, pull: true }, 10_000],
  ];
  const rows = readTable('When a running task moves');

  test('each row is what the gateway does', () => {
    expect(rows).toHaveLength(cases.length);
    cases.forEach(([begins, delivery, agent, fromMs], index) => {
      const { 'What its agent has done': what = '', 'The task may move': may = '' } = rows[index] ?? {};
      expect(what).toMatch(new RegExp(`^${begins}`));
      const seconds = Number(/(\d+) seconds/.exec(may)?.[1] ?? (may === 'at once' ? 0 : Number.NaN));
      expect(seconds * 1_000, what).toBe(fromMs ?? Number.NaN);
      if (fromMs === null) expect([may, wantsToMove(delivery, 'A', agent, 1e9)]).toEqual(['never', false]);
      else {
        expect(wantsToMove(delivery, 'A', agent, fromMs), what).toBe(true);
        expect(fromMs > 0 && wantsToMove(delivery, 'A', agent, fromMs - 1), what).toBe(false);
      }
    });
  });

  test('two attempts are too few, and an unknown one keeps the task with an agent that is there', () => {
    expect(wantsToMove({ ...untaken, attempts: 2, untaken: 2 }, 'A', there, 1e9)).toBe(false);
    expect(wantsToMove({ ...untaken, attempts: 9, untaken: 8 }, 'A', there, 1e9)).toBe(false);
  });
});
