/** The agent index picks the same agents as a plain implementation of the ranking rule. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { completeAgent } from '../../server/domain/agent.ts';
import { type Candidate, isFree } from '../../server/domain/match.ts';
import { createAgentIndex } from '../../server/gateway/agents/ranking/agent-index.ts';
import { createTaggedAgents } from '../../server/gateway/agents/ranking/tagged-agents.ts';
import { type AgentChanges, type AgentStatus, StoreUnavailable } from '../../server/ports/store.ts';
import { SILENT } from '../harness/silent-log.ts';

const tags = fc.subarray(['a', 'b', 'c', 'd']);
const agentStatus = fc
  .record({
    id: fc.integer({ min: 0, max: 9 }),
    tags,
    max: fc.integer({ min: 0, max: 4 }),
    external: fc.integer({ min: 0, max: 2 }),
    slots: fc.integer({ min: 0, max: 4 }),
    lastGrantMs: fc.integer({ min: 0, max: 3 }),
    taken: fc.constantFrom(null, true, false),
    draining: fc.boolean(),
  })
  .map(
    (one): AgentStatus => ({
      record: completeAgent({
        agent_id: `A${one.id}`,
        endpoint: 'pull',
        agent_tags: one.tags,
        max_concurrent: one.max,
        external: one.external,
        // Other tags come with another registration.
        registration: `r ${one.tags.join()}`,
        registeredMs: 0,
        draining: one.draining,
        offlineMs: null,
        left: false,
        unregisteredMs: null,
        lostAfterMs: null,
      }),
      revision: 'r',
      slots: one.slots,
      lastGrantMs: one.lastGrantMs,
      contact: {
        contactMs: 0,
        beatMs: null,
        beatGapMs: null,
        unreachedSinceMs: null,
        push: one.taken === null ? null : { taken: one.taken, status: null, error: null },
      },
    }),
  );

/** The ranking rule, applied to all agents. */
function pickPlainly(
  all: readonly AgentStatus[],
  wanted: readonly string[],
  excluded: ReadonlySet<string>,
): string | undefined {
  const shared = ({ record }: AgentStatus): number =>
    record.agent_tags.filter((tag) => wanted.includes(tag)).length;
  const ratio = ({ record, slots }: AgentStatus): number => (record.external + slots) / record.max_concurrent;
  const untaken = ({ contact }: AgentStatus): number => (contact.push?.taken === false ? 1 : 0);
  return all
    .filter((one) => one.slots < one.record.limit && shared(one) > 0 && !excluded.has(one.record.agent_id))
    .sort(
      (a, b) =>
        untaken(a) - untaken(b) ||
        shared(b) - shared(a) ||
        ratio(a) - ratio(b) ||
        a.lastGrantMs - b.lastGrantMs ||
        (a.record.agent_id < b.record.agent_id ? -1 : 1),
    )[0]?.record.agent_id;
}

describe('the agent index', () => {
  test('picks the agent that the ranking rule picks, after any sequence of changes', async () => {
    const plan = fc.array(
      fc.tuple(fc.array(agentStatus, { maxLength: 5 }), tags, fc.subarray(['A1', 'A2', 'A3'])),
      { minLength: 5, maxLength: 10 },
    );
    await fc.assert(
      fc.asyncProperty(plan, async (turns) => {
        const stored = new Map<string, AgentStatus>();
        let changed: readonly AgentStatus[] = [];
        const agentIndex = createAgentIndex(
          {
            nowMs: () => 0,
            health: () => ({ ok: true }),
            readAgentChanges: async () => ({ reset: false, changed, removed: [], cursor: 'c', more: false }),
            getAgentStatus: async (agent_id) => stored.get(agent_id),
          },
          SILENT,
        );
        for (const [changes, wanted, excluded] of turns) {
          changed = changes;
          for (const one of changes) stored.set(one.record.agent_id, one);
          await agentIndex.refresh();
          const picked = agentIndex.pick(wanted, new Set(excluded))?.record.agent_id;
          expect(picked).toBe(pickPlainly([...stored.values()], wanted, new Set(excluded)));
        }
      }),
      { numRuns: 500 },
    );
  });

  test('has agents as they were until all are read anew, however many pages that takes', async () => {
    const agents = fc
      .sample(agentStatus, { numRuns: 40, seed: 2 })
      .map((one, n): AgentStatus => ({ ...one, record: { ...one.record, agent_id: `A${n}` } }));
    const [gone] = agents;
    let pages: AgentChanges[] = [
      { reset: true, changed: agents, removed: [], cursor: 'c', more: false },
      ...agents
        .slice(1)
        .map((one, n) => ({ reset: n === 0, changed: [one], removed: [], cursor: `c${n}`, more: n < 38 })),
    ];
    const seen: number[] = [];
    const agentIndex = createAgentIndex(
      {
        nowMs: () => 0,
        health: () => ({ ok: true }),
        readAgentChanges: async () => {
          seen.push(agents.filter(({ record }) => agentIndex.find(record.agent_id)).length);
          const [page, ...rest] = pages;
          pages = rest;
          return page ?? { reset: false, changed: [], removed: [], cursor: 'c', more: false };
        },
        getAgentStatus: async () => undefined,
      },
      SILENT,
    );
    await agentIndex.refresh();
    await agentIndex.refresh();
    expect(seen).toEqual([0, ...Array(39).fill(40)]);
    expect(agentIndex.find(gone?.record.agent_id ?? '')).toBeUndefined();
    expect(agentIndex.find('A39')).toBeDefined();
  });

  test('counts a grant at once, so that a burst is spread over the agents', async () => {
    const [one, two] = fc.sample(agentStatus, { numRuns: 2, seed: 1 });
    if (!one || !two) throw new Error('no samples');
    const agents = [one, two].map((each, index): AgentStatus => {
      const fields = {
        ...each.record,
        agent_id: `A${index}`,
        agent_tags: ['a'],
        max_concurrent: 2,
        external: 0,
        draining: false,
      };
      return {
        ...each,
        slots: 0,
        lastGrantMs: 0,
        record: completeAgent(fields),
        contact: { ...each.contact, push: null },
      };
    });
    const agentIndex = createAgentIndex(
      {
        nowMs: () => 0,
        health: () => ({ ok: true }),
        readAgentChanges: async () => ({
          reset: true,
          changed: agents,
          removed: [],
          cursor: 'c',
          more: false,
        }),
        getAgentStatus: async () => undefined,
      },
      SILENT,
    );
    await agentIndex.refresh();
    const picks: (string | undefined)[] = [];
    for (let n = 0; n < 5; n += 1) {
      const candidate: Candidate | undefined = agentIndex.pick(['a']);
      picks.push(candidate?.record.agent_id);
      if (candidate && isFree(candidate)) agentIndex.noteGrant(candidate.record.agent_id, n + 1);
    }
    expect(picks).toEqual(['A0', 'A1', 'A0', 'A1', undefined]);
  });
});

test('of equally free agents those that were granted a task last are looked at last; a released slot moves none', () => {
  const agents = createTaggedAgents();
  const put = (agent_id: string, slots: number, lastGrantMs: number): void => {
    const record = completeAgent({
      agent_id,
      endpoint: 'pull',
      agent_tags: ['shared', agent_id],
      max_concurrent: 2,
      external: 0,
      registration: 'r',
      registeredMs: 0,
      draining: false,
      offlineMs: null,
      left: false,
      unregisteredMs: null,
      lostAfterMs: null,
    });
    const contact = { contactMs: 0, beatMs: null, beatGapMs: null, push: null, unreachedSinceMs: null };
    agents.put({ record, slots, lastGrantMs, lastPushUntaken: false, contact });
  };
  const look = () => agents.look(['shared'], ['taking'], 9).map(({ candidate }) => candidate.record.agent_id);
  for (const agent_id of ['A', 'B', 'C']) put(agent_id, 0, 0);
  put('A', 1, 1);
  put('B', 1, 2);
  expect(look()).toEqual(['C', 'A', 'B']);
  put('A', 0, 1);
  expect(look()).toEqual(['C', 'A', 'B']);
  expect(agents.find('shared')?.counts).toMatchObject({ agents: 3, free: 3, usedSlots: 1, freeSlots: 5 });
  for (const agent_id of ['A', 'B', 'C']) agents.remove(agent_id);
  expect([[...agents.tags()], agents.bytes()]).toEqual([[], 0]);
});

test('callers who ask for a refresh while one waits share it, and each is served by a read that began later', async () => {
  const reads: (() => void)[] = [];
  const agentIndex = createAgentIndex(
    {
      nowMs: () => 0,
      health: () => ({ ok: true }),
      async readAgentChanges() {
        await new Promise<void>((resolve) => reads.push(resolve));
        return { reset: false, changed: [], removed: [], cursor: 'c', more: false };
      },
      getAgentStatus: async () => undefined,
    },
    SILENT,
  );
  const first = agentIndex.refresh();
  await Promise.resolve();
  let served = 0;
  const others = Array.from({ length: 1_000 }, () => agentIndex.refresh().then(() => (served += 1)));
  expect(reads).toHaveLength(1);
  reads[0]?.();
  await first;
  await new Promise((resolve) => setImmediate(resolve));
  expect([reads.length, served]).toEqual([2, 0]);
  reads[1]?.();
  await Promise.all(others);
  expect(reads).toHaveLength(2);
});

describe('agents that cannot be read', () => {
  /** An index over a store that fails, unless `isFailing` is false; what it logs. */
  function createFailing(isStoreOk: boolean) {
    const state = { nowMs: 0, isFailing: true };
    const logged: string[] = [];
    const agentIndex = createAgentIndex(
      {
        nowMs: () => state.nowMs,
        health: () => (isStoreOk ? { ok: true } : { ok: false, outage: new StoreUnavailable('out') }),
        async readAgentChanges() {
          if (state.isFailing) throw new StoreUnavailable('a row of them is damaged');
          return { reset: false, changed: [], removed: [], cursor: 'c', more: false };
        },
        getAgentStatus: async () => undefined,
      },
      {
        error: (_fields, message) => logged.push(`error: ${message}`),
        info: (_fields, message) => logged.push(`info: ${message}`),
      },
    );
    return { state, logged, agentIndex };
  }

  test('are logged once however they were to be read, and once more when they can be read again', async () => {
    const { state, logged, agentIndex } = createFailing(true);
    for (let n = 0; n < 3; n += 1) {
      state.nowMs += 500;
      agentIndex.keepFresh();
      await agentIndex.whenRefreshed();
      await expect(agentIndex.refresh()).rejects.toThrow('damaged');
    }
    state.isFailing = false;
    state.nowMs += 500;
    agentIndex.keepFresh();
    await agentIndex.whenRefreshed();
    expect(logged).toEqual([
      'error: the agents cannot be read; tasks are assigned by an older copy of them',
      'info: the agents can be read again',
    ]);
  });

  test('in an outage of the store are the store’s to report', async () => {
    const { logged, agentIndex } = createFailing(false);
    agentIndex.keepFresh();
    await agentIndex.whenRefreshed();
    expect(logged).toEqual([]);
  });
});
