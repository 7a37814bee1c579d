/**
 * The gateway's own copy of the agents. It ranks them: which free agent is best for a task. The listing of
 * agents, their figures and similar tags are read from it, registrations are refused by the memory that it
 * takes, and an open push is stopped if by this copy its agent is gone and another is eligible.
 *
 * A stale copy costs one more try, never a wrong assignment: the store refuses a grant if the agent is full,
 * gone or registered anew, and refuses to abandon a task while an agent is free.
 */
import { createPace, type KeepPace } from '../../../async/pace.ts';
import { type AgentRecord, type AgentState, agentState } from '../../../domain/agent.ts';
import { type Candidate, compareForTask, isFailing } from '../../../domain/match.ts';
import type { MatchedTask, MatchTag, TaskMatch } from '../../../domain/task-match.ts';
import type { AgentFigures } from '../../../ports/figures.ts';
import type { Log } from '../../../ports/log.ts';
import type { AgentChanges, AgentStatus, Store } from '../../../ports/store.ts';
import { addSimilarTags, listServed, matchAgents } from './nearest-agents.ts';
import { findSimilarTags } from './similar-tags.ts';
import type { Counts } from './tag-supply.ts';
import { createTaggedAgents, type IndexedTag, type Sharing, type TaggedAgents } from './tagged-agents.ts';

export type AgentIndex = {
  /**
   * Catches up with the store: reads only what changed, and no more than some pages at a time. If more
   * changed (for example, after the start with very many agents), the rest comes with the next refreshes.
   */
  refresh(): Promise<void>;
  /**
   * Begins a refresh when the last one began half a second ago or earlier. If it fails, this is logged, and
   * the next one reads the same again.
   */
  keepFresh(): void;
  /** Resolves when the last refresh is over, whether it succeeded or failed. */
  whenRefreshed(): Promise<void>;
  /**
   * The best free agent that shares a tag and is not excluded; undefined when this copy knows none. One that
   * `canTake` accepts comes first. If very many are free, it is the best of some hundreds of them.
   */
  pick(
    tags: readonly string[],
    excluded?: ReadonlySet<string>,
    canTake?: (record: AgentRecord) => boolean,
  ): Candidate | undefined;
  /**
   * Which agents qualify for a task with these tags, as this copy has them; similar tags are named only when
   * it is `live`.
   */
  match(tags: readonly string[], task: MatchedTask, when: { nowMs: number; live: boolean }): TaskMatch;
  /** The memory of the agents in this copy. */
  readonly memory: Pick<TaggedAgents, 'bytes' | 'estimateMore'>;
  /** The agents by state and their slots, as this copy has them. */
  figures(): AgentFigures;
  /** Whether a registered agent has the tag and is not offline. */
  isServed(tag: string): boolean;
  /** For each of these tags without an agent: the most similar tag of an agent, if there is one. */
  findSimilarTags(tags: readonly string[]): ReadonlyMap<string, string>;
  /** For each of these tags without an agent, names the most similar tag of an agent. */
  addSimilarTags(tags: readonly MatchTag[]): readonly MatchTag[];
  /** The tags of agents, with the counts of the agents that have them. */
  tags(): Iterable<IndexedTag>;
  findTag(tag: string): IndexedTag | undefined;
  /** The registered agents. */
  all(): readonly Candidate[];
  /** An agent's record as this copy has it. */
  find(agent_id: string): AgentRecord | undefined;
  /** Reads one agent again, because the store disagreed with this copy about it. */
  reload(agent_id: string): Promise<void>;
  /**
   * Counts a slot just before it is granted, so that a burst spreads before the store reports the change. For
   * example, of ten tasks in one tick each sees the slots of those before it.
   */
  noteGrant(agent_id: string, nowMs: number): void;
  /** Counts a slot as released, before the store reports the change. */
  noteRelease(agent_id: string): void;
};

const NONE: ReadonlySet<string> = new Set();
/** Agents that a pick looks at, beginning with the rarest tag: so it costs no more with more of them. */
const LOOKED_AT_MAX = 500;
const FREE_ONES = ['taking', 'untaken'] as const;
/**
 * A task that is assigned in its submission never comes due, so no due pass refreshes the index. This is how
 * stale the index may get.
 */
const FRESH_MS = 500;
/** Pages read in one refresh, each of about a megabyte at most. */
const PAGES_PER_REFRESH = 16;

type IndexStore = Pick<Store, 'nowMs' | 'health' | 'readAgentChanges' | 'getAgentStatus'>;

/** Creates an empty index; the first refresh fills it. */
export function createAgentIndex(
  store: IndexStore,
  log: Pick<Log, 'info' | 'error'>,
  keepPace: KeepPace = createPace(),
): AgentIndex {
  const agents = createTaggedAgents();

  return {
    ...createRefreshing(store, log, agents, keepPace),
    match: (tags, task, when) => matchAgents(agents, tags, task, when),
    memory: agents,
    figures: () => countAgents(agents.listRegistered(), agents.counts),
    isServed(tag) {
      const { free = 0, full = 0, draining = 0 } = agents.find(tag)?.counts ?? {};
      return free + full + draining > 0;
    },
    findSimilarTags: (tags) => findSimilarTags(listServed(agents), tags),
    addSimilarTags: (tags) => addSimilarTags(agents, tags),
    tags: agents.tags,
    findTag: agents.find,
    all: agents.listRegistered,
    find: (agent_id) => agents.get(agent_id)?.record,

    async reload(agent_id) {
      const agentStatus = await store.getAgentStatus(agent_id);
      if (agentStatus) agents.put(toCandidate(agentStatus));
      else agents.remove(agent_id);
    },

    pick(tags, excluded = NONE, canTake) {
      let best: Candidate | undefined;
      for (const freedom of FREE_ONES) {
        const offered = agents
          .look(tags, [freedom], LOOKED_AT_MAX)
          .filter(({ candidate }) => !excluded.has(candidate.record.agent_id));
        const first = findBest(offered);
        if (first && (!canTake || canTake(first.record))) return first;
        const taking =
          canTake && offered.sort(compareSharing).find(({ candidate }) => canTake(candidate.record));
        if (taking) return taking.candidate;
        best ??= first;
      }
      return best;
    },

    noteGrant(agent_id, nowMs) {
      const candidate = agents.get(agent_id);
      if (candidate) agents.put({ ...candidate, slots: candidate.slots + 1, lastGrantMs: nowMs });
    },
    noteRelease(agent_id) {
      const candidate = agents.get(agent_id);
      if (candidate && candidate.slots > 0) agents.put({ ...candidate, slots: candidate.slots - 1 });
    },
  };
}

function compareSharing(a: Sharing, b: Sharing): number {
  return compareForTask(a.candidate, a.shared, b.candidate, b.shared);
}

function findBest(offered: readonly Sharing[]): Candidate | undefined {
  let best = offered[0];
  for (const one of offered) if (best && compareSharing(one, best) < 0) best = one;
  return best?.candidate;
}

/** Counts registered agents by state and condition, beside what all agents have. */
function countAgents(registered: Iterable<Candidate>, all: Readonly<Counts>): AgentFigures {
  const states: Record<AgentState, number> = { ready: 0, processing: 0, draining: 0, offline: 0 };
  let [failing, offlineSlots] = [0, 0];
  for (const candidate of registered) {
    const state = agentState(candidate.record, candidate.slots);
    states[state] += 1;
    if (state === 'offline') offlineSlots += candidate.slots;
    if (isFailing(candidate)) failing += 1;
  }
  const { full, usedSlots, freeSlots, unusableSlots } = all;
  return { states, full, failing, usedSlots, freeSlots, unusableSlots, offlineSlots };
}

function createRefreshing(
  store: IndexStore,
  log: Pick<Log, 'info' | 'error'>,
  agents: TaggedAgents,
  keepPace: KeepPace,
): Pick<AgentIndex, 'refresh' | 'keepFresh' | 'whenRefreshed'> {
  let cursor: string | null = null;
  // One refresh after the other: an older read must not overwrite a newer one.
  let refreshing: Promise<void> = Promise.resolve();
  /** The refresh that has not begun: it serves all who ask for one meanwhile. */
  let queued: Promise<void> | null = null;
  let refreshedMs = Number.NEGATIVE_INFINITY;
  /** While all agents are read anew: those not read yet, which stay as they were until the last page. */
  let unread: Set<string> | null = null;
  const noteRefresh = createRefreshLog(store, log);

  async function apply(changes: AgentChanges): Promise<void> {
    if (changes.reset) unread = new Set(agents.ids());
    for (const agent_id of changes.removed) agents.remove(agent_id);
    for (const agentStatus of changes.changed) {
      await keepPace();
      agents.put(toCandidate(agentStatus));
      unread?.delete(agentStatus.record.agent_id);
    }
    cursor = changes.cursor;
    if (changes.more) return;
    for (const agent_id of unread ?? []) agents.remove(agent_id);
    unread = null;
  }

  async function readPages(): Promise<void> {
    // All at once after a reset: at a start, the agents of later pages would seem to be gone.
    for (let pages = 0; pages < PAGES_PER_REFRESH || unread !== null; pages += 1) {
      const changes = await store.readAgentChanges(cursor);
      await apply(changes);
      if (!changes.more) return;
    }
  }

  function refresh(): Promise<void> {
    if (queued) return queued;
    refreshedMs = store.nowMs();
    queued = refreshing.then(() => {
      queued = null;
      return readPages();
    });
    refreshing = queued.then(() => noteRefresh(null), noteRefresh);
    return queued;
  }

  return {
    refresh,
    keepFresh() {
      if (store.nowMs() - refreshedMs >= FRESH_MS) refresh().catch(() => undefined);
    },
    whenRefreshed: () => refreshing,
  };
}

/** Logs when the agents cannot be read, and when they can again. An outage is the store's to report. */
function createRefreshLog(
  store: Pick<Store, 'health'>,
  log: Pick<Log, 'info' | 'error'>,
): (error: unknown) => void {
  let isFailing = false;
  return (error) => {
    if (error !== null && !store.health().ok) return;
    if (error !== null && !isFailing)
      log.error({ err: error }, 'the agents cannot be read; tasks are assigned by an older copy of them');
    if (error === null && isFailing) log.info({}, 'the agents can be read again');
    isFailing = error !== null;
  };
}

function toCandidate({ record, slots, lastGrantMs, contact }: AgentStatus): Candidate {
  return { record, slots, lastGrantMs, lastPushUntaken: contact.push?.taken === false, contact };
}
