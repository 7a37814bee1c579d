/**
 * What a match costs with few and many agents, in few and many tag sets: it must depend on the sets alone.
 */
import type { AgentRecord } from '../../server/domain/agent.ts';
import { createAgentIndex } from '../../server/gateway/agents/ranking/agent-index.ts';
import type { AgentStatus } from '../../server/ports/store.ts';
import { SILENT } from '../harness/silent-log.ts';

export type Matching = {
  readonly agents: number;
  readonly sets: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
};

const TAGS_EACH = 20;
const MATCHES = 20_000;

/**
 * Fills the agent index with agents of 20 tags out of 200, in this many sets, and matches tasks of three
 * tags.
 */
export async function measureMatching(agents: number, sets: number): Promise<Matching> {
  const changed = Array.from({ length: agents }, (_, n) => buildStatus(n, n % sets));
  const index = createAgentIndex(
    {
      nowMs: () => 0,
      health: () => ({ ok: true }),
      readAgentChanges: async () => ({ reset: true, changed, removed: [], cursor: '1', more: false }),
      getAgentStatus: async () => undefined,
    },
    SILENT,
  );
  await index.refresh();
  const took: number[] = [];
  for (let n = 0; n < MATCHES; n += 1) {
    const tags = [nameTag(n), nameTag(n * 7), nameTag(n * 13)];
    const beganMs = performance.now();
    const found = index.pick(tags);
    if (found) index.noteGrant(found.record.agent_id, n);
    took.push(performance.now() - beganMs);
  }
  took.sort((a, b) => a - b);
  const at = (share: number): number => took[Math.floor(took.length * share)] ?? 0;
  return { agents, sets, p50Ms: at(0.5), p99Ms: at(0.99) };
}

function buildStatus(n: number, set: number): AgentStatus {
  const record: AgentRecord = {
    agent_id: `agent-${n}`,
    endpoint: 'http://127.0.0.1:1/',
    max_concurrent: 1_000,
    external: 0,
    agent_tags: Array.from({ length: TAGS_EACH }, (_, tag) => nameTag(set + tag * 11)),
    registration: `r${n}`,
    registeredMs: 0,
    draining: false,
    offlineMs: null,
    left: false,
    unregisteredMs: null,
    lostAfterMs: null,
    limit: 1_000,
  };
  const contact = { contactMs: 0, beatMs: null, beatGapMs: null, push: null, unreachedSinceMs: null };
  return { record, revision: '1', slots: 0, lastGrantMs: 0, contact };
}

function nameTag(n: number): string {
  return `tag-${n % 200}`;
}
