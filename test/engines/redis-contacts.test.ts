/**
 * Contacts that the Redis engine does not note one by one: those of a busy agent, whose calls and pushes come
 * many in a quarter of a second.
 */
import { describe, expect, test } from 'vitest';
import { yieldToEventLoop } from '../../server/async/waiting.ts';
import { createContacts } from '../../server/engines/redis/contacts.ts';
import { createAgentStatuses } from '../../server/engines/redis/reads/agent-status.ts';
import { StoreUnavailable, type Touch } from '../../server/ports/store.ts';
import { createFakeClock, type FakeClock } from '../harness/fake-clock.ts';
import { buildAgent } from './store-under-test.ts';

const CALL: Touch = { by: 'call', mayBeLate: true };
const TAKEN = { by: 'push', taken: true, status: 202, error: null, mayBeLate: true } as const;
const FAILED: Touch = { by: 'push', taken: false, status: 500, error: 'failed' };

function createSubject() {
  const clock = createFakeClock();
  const nowMs = (): number => 1_000_000 + clock.nowMs();
  /** What was noted: when, of which agent, and the status of a push or what else it was. */
  const noted: (readonly [atMs: number, agent_id: string, what: string])[] = [];
  const agent = { record: buildAgent('A'), isOut: false, reads: 0 };
  const contacts = createContacts({
    connection: {
      requireUp: () => undefined,
      async call(_script, args) {
        if (agent.isOut) throw new StoreUnavailable('out');
        const [id = '', kind = '', , outcome = ''] = args;
        noted.push([clock.nowMs(), id, outcome === '' ? kind : String(JSON.parse(outcome).status)]);
        return [String(nowMs()), JSON.stringify(agent.record), 'r'];
      },
    },
    values: {
      async read() {
        agent.reads += 1;
        return { json: JSON.stringify(agent.record), revision: 'r' };
      },
    },
    statuses: createAgentStatuses(() => undefined),
    clock,
    nowMs,
  });
  return { clock, noted, agent, contacts };
}

/** Advances the time, and lets what it began reach Redis. */
async function pass(clock: FakeClock, ms: number): Promise<void> {
  await clock.advance(ms);
  for (let ticks = 0; ticks < 3; ticks += 1) await yieldToEventLoop();
}

describe('pushes that an agent takes one after the other', () => {
  test('are noted at once, and then together every quarter of a second', async () => {
    const { clock, noted, agent, contacts } = createSubject();
    for (let n = 0; n < 60; n += 1) {
      expect(await contacts.touch('A', TAKEN)).toEqual(agent.record);
      await pass(clock, 10);
    }
    expect(noted).toEqual([
      [0, 'A', '202'],
      [250, 'A', '202'],
      [500, 'A', '202'],
    ]);
    await pass(clock, 10_000);
    expect(noted.slice(3)).toEqual([[750, 'A', '202']]);
    expect(clock.sleeping()).toBe(0);
  });

  test('are noted at once where the outcome is another, and nothing is noted after a failure', async () => {
    const { clock, noted, contacts } = createSubject();
    for (const touch of [TAKEN, TAKEN, { ...TAKEN, status: 204 }, TAKEN, TAKEN, FAILED]) {
      await contacts.touch('A', touch);
    }
    expect(noted.map(([, , what]) => what)).toEqual(['202', '204', '202', '500']);
    await pass(clock, 1_000);
    expect(noted).toHaveLength(4);
  });

  test('of several agents are noted together, each once', async () => {
    const { clock, noted, contacts } = createSubject();
    for (const agent_id of ['A', 'B', 'A', 'B', 'A']) await contacts.touch(agent_id, TAKEN);
    expect(noted).toHaveLength(2);
    await pass(clock, 250);
    expect(noted.slice(2)).toEqual([
      [250, 'A', '202'],
      [250, 'B', '202'],
    ]);
  });

  test('are noted one by one while the agent is offline', async () => {
    const { noted, agent, contacts } = createSubject();
    agent.record = buildAgent('A', { offlineMs: 1 });
    for (let n = 0; n < 3; n += 1) {
      expect((await contacts.touch('A', TAKEN))?.offlineMs).toBe(1);
    }
    expect(noted).toHaveLength(3);
  });

  test('are noted when the store is closed; a note that fails is not made again', async () => {
    const { clock, noted, agent, contacts } = createSubject();
    for (let n = 0; n < 3; n += 1) await contacts.touch('A', TAKEN);
    await contacts.flush();
    expect(noted).toHaveLength(2);
    await contacts.touch('A', TAKEN);
    agent.isOut = true;
    await pass(clock, 250);
    agent.isOut = false;
    await pass(clock, 1_000);
    expect(noted).toHaveLength(2);
    await contacts.touch('A', TAKEN);
    expect(noted).toHaveLength(3);
  });
});

describe('calls of an agent', () => {
  test('within a quarter of a second only read its record, and not even that where it may be late', async () => {
    const { clock, noted, agent, contacts } = createSubject();
    await contacts.touch('A', { by: 'call' });
    for (let n = 0; n < 3; n += 1) expect(await contacts.touch('A', CALL)).toEqual(agent.record);
    expect(agent.reads).toBe(0);
    await contacts.touch('A', { by: 'call' });
    expect([noted.length, agent.reads]).toEqual([1, 1]);
    await pass(clock, 250);
    await contacts.touch('A', CALL);
    expect(noted).toHaveLength(2);
  });

  test('read it while it is offline: its contact brings it back', async () => {
    const { agent, contacts } = createSubject();
    agent.record = buildAgent('A', { offlineMs: 1 });
    await contacts.touch('A', CALL);
    agent.record = buildAgent('A', { registration: 'back' });
    expect((await contacts.touch('A', CALL))?.registration).toBe('back');
    expect(agent.reads).toBe(1);
  });
});
