/**
 * The calls of administrators: the overview, tasks and agents as rows, the cancellation of many tasks, and
 * the drain of an agent. They return shapes of the contract. No call costs more when there are more tasks or
 * agents: counts are kept as things change, listings come in pages, and one call looks at no more than 1,000
 * tasks or agents.
 */
import type { components } from '@task-gateway/contract';
import type { AgentState } from '../domain/agent.ts';
import type { TaskOutcome } from '../domain/history-record.ts';
import type { TaskStatus } from '../domain/task.ts';

export type Schemas = components['schemas'];
export type DeepReadonly<T> = T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> } : T;

/** The overview without `version`, which HTTP adds. */
export type Overview = Omit<DeepReadonly<Schemas['GatewayOverview']>, 'version'>;
export type OverviewProblem = DeepReadonly<Schemas['OverviewProblem']>;
export type RecentFailures = DeepReadonly<Schemas['RecentFailures']>;
export type TagDemand = DeepReadonly<Schemas['TagDemand']>;
export type AgentCounts = DeepReadonly<Schemas['AgentCounts']>;
export type TaskRow = DeepReadonly<Schemas['TaskRow']>;
export type TaskPage = DeepReadonly<Schemas['TaskPage']>;
export type TaskTotals = DeepReadonly<Schemas['TaskCounts']>;
export type CancellationReceipt = DeepReadonly<Schemas['CancellationReceipt']>;
export type ListedAgent = DeepReadonly<Schemas['Agent']>;
export type AgentPage = DeepReadonly<Schemas['AgentPage']>;
export type AgentDetail = DeepReadonly<Schemas['AgentDetail']>;
export type AgentActivity = DeepReadonly<Schemas['AgentActivity']>;
export type AgentPush = DeepReadonly<Schemas['AgentPush']>;

/** Whether the console is served, and what it may do. */
export type ConsoleMode = 'on' | 'read-only' | 'off';

/**
 * A search among tasks. A task must match every given field. For example, `status: ['pending', 'running']`
 * with `tag: 'gpu'` matches the open tasks with this tag.
 */
export type TaskFilter = {
  /** Any of these. */
  readonly status?: readonly TaskStatus[];
  /** Any of these. */
  readonly outcome?: readonly TaskOutcome[];
  /** Whether the task waits for an agent. */
  readonly waiting?: boolean;
  readonly waiting_for_answer?: boolean;
  readonly type?: string;
  readonly tag?: string;
  readonly session?: string;
  readonly agent?: string;
  /** A whole `request_id` or its end. */
  readonly id?: string;
  /** Epoch seconds, inclusive. */
  readonly created_after?: number;
  /** Epoch seconds, exclusive. */
  readonly created_before?: number;
  /** Epoch seconds, inclusive. Matches among the tasks that ended last. */
  readonly ended_after?: number;
  /** The beginning of an error. Numbers and ids in it may differ. */
  readonly error?: string;
};

export type TaskQuery = TaskFilter & {
  readonly cursor?: string;
  readonly limit: number;
  /** Whether the first page has counts. Later pages never have. */
  readonly counts?: boolean;
};

/** Which tasks to cancel: all that match the filter, or those with the given ids. */
export type TaskSelection =
  | { readonly filter: TaskFilter; readonly request_ids: null }
  | { readonly filter: null; readonly request_ids: readonly string[] };

export type TaskCancellation = TaskSelection & {
  /** Epoch seconds. Tasks submitted at this time or later are left alone. */
  readonly created_before: number;
  /** Only counts the tasks, and changes nothing. */
  readonly dry_run: boolean;
  readonly cursor: string | null;
};

export type AgentQuery = {
  readonly state?: AgentState;
  readonly tag?: string;
  readonly full?: boolean;
  readonly failing?: boolean;
  /** A part of the `agent_id`, in upper or lower case. */
  readonly id?: string;
  readonly sort: 'trouble' | 'id';
  readonly cursor?: string;
  readonly limit: number;
};

export type AdminCalls = {
  /** Returns at most `tagsMax` tags. While the store is out, it resolves with what was last read. */
  getOverview(tagsMax: number): Promise<Overview>;
  listTasks(query: TaskQuery): Promise<TaskPage>;
  /** Throws `read_only` while the console may change nothing. */
  cancelTasks(cancellation: TaskCancellation): Promise<CancellationReceipt>;
  listAgents(query: AgentQuery): Promise<AgentPage>;
  getAgent(agent_id: string): Promise<AgentDetail>;
  /** Throws `read_only` while the console may change nothing. */
  drainAgent(agent_id: string, draining: boolean): Promise<AgentDetail>;
};
