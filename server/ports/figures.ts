/** Figures of the tasks and agents at this moment. The gateway offers them to its metrics. */
import type { AgentState } from '../domain/agent.ts';

export type AgentFigures = {
  /** How many registered agents are in each state. */
  readonly states: Readonly<Record<AgentState, number>>;
  /** Registered agents at full load, if neither draining nor offline. */
  readonly full: number;
  /** Registered agents that do not take their pushes. */
  readonly failing: number;
  /** Slots that running tasks hold, those of unregistered agents included. */
  readonly usedSlots: number;
  /** Slots that could be granted now. */
  readonly freeSlots: number;
  /** Free slots of agents that do not take their pushes. */
  readonly unusableSlots: number;
  /** Used slots of registered agents that are offline. */
  readonly offlineSlots: number;
};

export type TaskFigures = {
  readonly pending: number;
  readonly running: number;
  readonly waiting: number;
  /** The time since the oldest waiting task was submitted; 0 when no task waits. */
  readonly oldestWaitingMs: number;
  /**
   * How many tags the waiting tasks ask for. `tagsWithoutAgent`: how many of these no registered agent has
   * that is not offline.
   */
  readonly waitingTags: number;
  readonly tagsWithoutAgent: number;
  /** How long reading the counts from the store took. */
  readonly readMs: number;
};

export type Figures = {
  /** Uses this process's copy of the agents, so it works while the store is out too. */
  agents(): AgentFigures;
  /** Throws `StoreUnavailable`. */
  readTasks(): Promise<TaskFigures>;
};
