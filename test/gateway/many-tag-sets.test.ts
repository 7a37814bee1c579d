/**
 * Which agents a match finds where 20,000 of them share 63 of a task's 64 tags and no two have the same tags:
 * it looks at some of them. What it costs is in `resilience/worst-case/`.
 */
import { beforeAll, expect, test } from 'vitest';
import { completeAgent } from '../../server/domain/agent.ts';
import { fillOutcomes } from '../../server/domain/task-counts.ts';
import { ANY_TASK } from '../../server/domain/task-match.ts';
import { buildTagTable } from '../../server/gateway/admin/overview/overview-tags.ts';
import { createAgentIndex } from '../../server/gateway/agents/ranking/agent-index.ts';
import type { AgentStatus } from '../../server/ports/store.ts';
import { SILENT } from '../harness/silent-log.ts';

const AGENTS = 20_000;
const SHARED = Array.from({ length: 63 }, (_, n) => `shared-${n}`);

function buildStatus(n: number): AgentStatus {
  const record = completeAgent({
    agent_id: `agent-${n}`,
    endpoint: 'pull',
    agent_tags: [`own-${n}`, ...SHARED],
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
  return { record, revision: '1', slots: 0, lastGrantMs: 0, contact };
}

const all = Array.from({ length: AGENTS }, (_, n) => buildStatus(n));
const agentIndex = createAgentIndex(
  {
    nowMs: () => 0,
    health: () => ({ ok: true }),
    readAgentChanges: async () => ({ reset: true, changed: all, removed: [], cursor: '1', more: false }),
    getAgentStatus: async () => undefined,
  },
  SILENT,
);
beforeAll(() => agentIndex.refresh());

test('a pick, and grants to what it picks', () => {
  const picked: string[] = [];
  for (let n = 1; n <= 6; n += 1) {
    const agent_id = agentIndex.pick([...SHARED, 'own-19999'])?.record.agent_id ?? '';
    picked.push(agent_id);
    agentIndex.noteGrant(agent_id, n);
  }
  // The one agent that shares all tags comes first until it is full; then those that were idle longest.
  expect(picked.slice(0, 2)).toEqual(['agent-19999', 'agent-19999']);
  expect(new Set(picked.slice(2)).size).toBe(4);
});

test('tasks of one tag reach all agents, although a pick looks at some of them', () => {
  const picked = new Set<string>();
  for (let n = 0; n < 5_000; n += 1) {
    const agent_id = agentIndex.pick(['shared-7'])?.record.agent_id ?? '';
    picked.add(agent_id);
    agentIndex.noteGrant(agent_id, 1_000 + n);
  }
  expect(picked.size).toBe(5_000);
});

test('a match with its counts, also where one agent has none of the most common tags', () => {
  const live = { nowMs: 0, live: true };
  const result = agentIndex.match([...SHARED, 'own-3'], ANY_TASK, live);
  expect(result.sharing).toMatchObject({ agents: AGENTS, offline: 0, draining: 0 });
  expect(result.agents[0]).toMatchObject({ agent_id: 'agent-3', shared_tags: SHARED.slice(0, 8) });
  expect(result.tags.at(-1)).toMatchObject({ tag: 'own-3', agents: 1 });
  expect(result.agents).toHaveLength(20);
});

test('the tags by their use', () => {
  const counts = { pending: 0, running: 0, waiting: 0, waitingForAnswer: 0, ended: fillOutcomes() };
  const sources = {
    counts: { ...counts, oldestWaitingMs: null, tags: [] },
    steps: [],
    untaken: { total: 0, byTag: new Map() },
  };
  const result = buildTagTable(sources, agentIndex, 1_000);
  expect(result.rows.slice(0, 63).map(({ tag }) => tag)).toEqual(SHARED.toSorted());
  expect([result.rows.length, result.total]).toEqual([1_000, AGENTS + 63]);
});
