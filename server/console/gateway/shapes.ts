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

/** How many agents there are, in all and of each kind. */
export type AgentCounts = GatewayOverview['agents'];
/** A task of those that have waited longest. */
export type WaitingTask = GatewayOverview['oldest_waiting'][number];
/** A task in a slot of an agent. */
export type AgentTask = AgentDetail['slots'][number];
/** Steps of time, a character each, oldest first: `1` where it happened. */
export type AgentActivity = AgentDetail['activity'];
/** The pushes to an agent, as the gateway that responded has seen them. */
export type AgentPushes = AgentDetail['push'];

/** A filter as it stands in an address: what a reader typed may be no status. */
type Typed<Filter> = Omit<Filter, 'status' | 'outcome'> & {
  readonly status?: readonly string[];
  readonly outcome?: readonly string[];
};
/** The filters of tasks. The lists mean any of; different filters must all match. */
export type TaskQuery = Typed<SdkTaskQuery>;
/** How many tasks match a filter, and when this was so. */
export type TaskCounts = SdkTaskCounts & { readonly time: number };
/** The same, of a bulk action. */
type CancelFilter = Typed<SdkCancelFilter>;
/** Exactly one of `filter` and `request_ids`. Nothing created at or after `created_before` is touched. */
export type TaskCancellation = Omit<SdkTaskCancellation, 'filter' | 'request_ids'> & {
  readonly filter?: CancelFilter | null;
  readonly request_ids?: readonly string[] | null;
};
