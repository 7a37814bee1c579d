/** Figures of the tasks and agents at this moment, for the operator: what the gateway offers its metrics. */
import type { AgentState } from '../domain/agent.ts';

/** How many agents are in each state, and what slots they have. */
export type AgentFigures = {
  /** Registered agents. */
  readonly states: Readonly<Record<AgentState, number>>;
  /** Registered agents at full load, if neither draining nor offline. */
  readonly full: number;
  /** Registered agents that do not take their pushes. */
  readonly failing: number;
  /** Slots that running tasks hold, those of unregistered agents included. */
  readonly usedSlots: number;
  /** Slots that could be granted now. */
  readonly freeSlots: number;
  /** Of the free slots: those of agents that do not take their pushes. */
  readonly unusableSlots: number;
  /** Of the used slots: those of registered agents that are offline. */
  readonly offlineSlots: number;
};

/** The contents of the store. */
export type TaskFigures = {
  /** If the agent of a running task has no record any more, the task counts as pending. */
  readonly pending: number;
  readonly running: number;
  readonly waiting: number;
  /** Since the oldest of the waiting tasks was submitted; 0 when none waits. */
  readonly oldestWaitingMs: number;
  /** How many tags waiting tasks ask for, and how many of these no agent has, registered and not offline. */
  readonly waitingTags: number;
  readonly tagsWithoutAgent: number;
  /** How long the call of the store took. */
  readonly readMs: number;
};

export type Figures = {
  /** By this process's copy of the agents, so also while the store is out. */
  agents(): AgentFigures;
  /** Throws `StoreUnavailable`. */
  readTasks(): Promise<TaskFigures>;
};
