/** The SDK's types of an administrator's reads, and the names of their parts. */
import type {
  AgentDetail,
  GatewayOverview,
  CancelFilter as SdkCancelFilter,
  TaskCancellation as SdkTaskCancellation,
  TaskCounts as SdkTaskCounts,
  TaskQuery as SdkTaskQuery,
} from '@task-gateway/sdk';

export type {
  AgentDetail,
  AgentPage,
  AgentPush,
  AgentQuery,
  CancellationReceipt,
  FailureGroup,
  GatewayOverview,
  ListedAgent,
  OverviewProblem,
  TagDemand,
  TaskPage,
  TaskRow,
} from '@task-gateway/sdk';

/** How many agents there are in total and of each kind. */
export type AgentCounts = GatewayOverview['agents'];
/** One of the tasks that have waited longest. */
export type WaitingTask = GatewayOverview['oldest_waiting'][number];
/** A task in a slot of an agent. */
export type AgentTask = AgentDetail['slots'][number];
/** Steps of time, one character each, the oldest first. `1` means that it happened in the step. */
export type AgentActivity = AgentDetail['activity'];
/** The pushes to an agent, as the gateway that responded has seen them. */
export type AgentPushes = AgentDetail['push'];

/** A filter as an address has it: a reader may have typed a status that does not exist. */
type Typed<Filter> = Omit<Filter, 'status' | 'outcome'> & {
  readonly status?: readonly string[];
  readonly outcome?: readonly string[];
};
/** The filters of tasks. A list matches any of its values; all filters must match. */
export type TaskQuery = Typed<SdkTaskQuery>;
/** How many tasks match a filter, and when they were counted. */
export type TaskCounts = SdkTaskCounts & { readonly time: number };
/** The filter of a bulk action. */
type CancelFilter = Typed<SdkCancelFilter>;
/**
 * Exactly one of `filter` and `request_ids` is set. Tasks created at or after `created_before` stay as they
 * are.
 */
export type TaskCancellation = Omit<SdkTaskCancellation, 'filter' | 'request_ids'> & {
  readonly filter?: CancelFilter | null;
  readonly request_ids?: readonly string[] | null;
};
