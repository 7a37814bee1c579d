/**
 * The gateway's own copy of the agents. It ranks them: which free agent is best for a task. The listing of
 * agents, their figures and similar tags are read from it. When it uses too much memory, registrations are
 * refused. An open push is stopped if, by this copy, its agent is gone and another agent is eligible.
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
   * Reads what changed in the store since the last refresh, at most some pages. If more changed, the next
   * refreshes read the rest.
   */
  refresh(): Promise<void>;
  /**
   * Starts a refresh, unless the last one began less than half a second ago. A failure is logged, and the
   * next refresh reads the same changes again.
   */
  keepFresh(): void;
  /** Resolves when the last refresh is over, even if it failed. */
  whenRefreshed(): Promise<void>;
  /**
   * The best free agent that shares a tag and is not excluded; undefined if this copy has none. Agents that
   * `canTake` accepts come first. If very many are free, only some hundreds of them are compared.
   */
  pick(
    tags: readonly string[],
    excluded?: ReadonlySet<string>,
    canTake?: (record: AgentRecord) => boolean,
  ): Candidate | undefined;
  /** Which agents qualify for a task with these tags. Similar tags are named only if `live` is true. */
  match(tags: readonly string[], task: MatchedTask, when: { nowMs: number; live: boolean }): TaskMatch;
  readonly memory: Pick<TaggedAgents, 'bytes' | 'estimateMore'>;
  /** Counts the agents and their slots. */
  figures(): AgentFigures;
  isServed(tag: string): boolean;
  /** For each of `tags` that no agent has: the most similar tag that an agent has, if there is one. */
  findSimilarTags(tags: readonly string[]): ReadonlyMap<string, string>;
  /** Adds the most similar tag of an agent wherever no agent has the tag. */
  addSimilarTags(tags: readonly MatchTag[]): readonly MatchTag[];
  /** The tags that agents have, with counts of these agents. */
  tags(): Iterable<IndexedTag>;
  findTag(tag: string): IndexedTag | undefined;
  /** Lists the registered agents. */
  all(): readonly Candidate[];
  /** Finds an agent's record in this copy. */
  find(agent_id: string): AgentRecord | undefined;
  /** Reads one agent again. Called when the store contradicts this copy. */
  reload(agent_id: string): Promise<void>;
  /**
   * Counts a slot just before it is granted, so that a burst spreads before the store reports the change. For
   * example, of ten tasks in one tick, each sees the slots of the tasks before it.
   */
  noteGrant(agent_id: string, nowMs: number): void;
  /** Takes a slot off the count before the store reports the change. */
  noteRelease(agent_id: string): void;
};

const NONE: ReadonlySet<string> = new Set();
/** How many agents a pick looks at, those of the rarest tag first. So its cost has a bound. */
const LOOKED_AT_MAX = 500;
const FREE_ONES = ['taking', 'untaken'] as const;
/**
 * How stale the index may get. A task that is assigned in its submission never comes due, so no due pass
 * refreshes the index for it.
 */
const FRESH_MS = 500;
/** How many pages a refresh reads, each of about a megabyte at most. */
const PAGES_PER_REFRESH = 16;

type IndexStore = Pick<Store, 'nowMs' | 'health' | 'readAgentChanges' | 'getAgentStatus'>;

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

/** Counts registered agents by state, and the failing ones. The other figures come from `all`. */
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
  // Refreshes run one after the other: an older read must not overwrite a newer one.
  let refreshing: Promise<void> = Promise.resolve();
  /** The refresh that has not begun yet. All who ask meanwhile wait for it. */
  let queued: Promise<void> | null = null;
  let refreshedMs = Number.NEGATIVE_INFINITY;
  /** After a reset: the agents that have not been read again. They stay in the index until the last page. */
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
    // After a reset all pages are read at once, so that no agent seems to be gone meanwhile.
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

/**
 * Logs once when the agents cannot be read, and once when they can again. The store itself logs its outages.
 */
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
