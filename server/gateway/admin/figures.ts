/**
 * Reads the figures of tasks and agents at this moment. Nothing is scanned: the store keeps its counts with
 * each commit, and the agent index counts its agents as they change. A reading costs one call of the store,
 * the agents that changed since the last refresh, and at most 1,000 tags of waiting tasks.
 */
import type { Clock } from '../../ports/clock.ts';
import type { Figures } from '../../ports/figures.ts';
import type { Store } from '../../ports/store.ts';
import type { AgentIndex } from '../agents/ranking/agent-index.ts';

/** How many tags of waiting tasks a reading looks at. */
const TAGS_MAX = 1_000;

export function createFigures(deps: {
  readonly store: Pick<Store, 'nowMs' | 'readCounts'>;
  readonly clock: Clock;
  readonly agentIndex: Pick<AgentIndex, 'refresh' | 'figures' | 'isServed'>;
}): Figures {
  const { store, clock, agentIndex } = deps;
  return {
    agents: agentIndex.figures,
    async readTasks() {
      const startedMs = clock.monotonicMs();
      const counts = await store.readCounts(TAGS_MAX);
      const readMs = clock.monotonicMs() - startedMs;
      await agentIndex.refresh();
      return {
        pending: counts.pending,
        running: counts.running,
        waiting: counts.waiting,
        oldestWaitingMs: Math.max(0, store.nowMs() - (counts.oldestWaitingMs ?? store.nowMs())),
        waitingTags: counts.tags.length,
        tagsWithoutAgent: counts.tags.filter(({ tag }) => !agentIndex.isServed(tag)).length,
        readMs,
      };
    },
  };
}
