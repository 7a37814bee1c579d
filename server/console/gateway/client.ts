/**
 * The gateway as the console calls it: the SDK with the secrets that were typed, and reads in the form that a
 * poll takes.
 */
import {
  type AgentId,
  type CallOptions,
  createClient,
  type RequestId,
  type TaskCancellation as SdkTaskCancellation,
  type TaskQuery as SdkTaskQuery,
  type TaggedReadOptions,
  type Task,
  type TaskExplanation,
  type TaskGatewayClient,
} from '@task-gateway/sdk';
import { gatewayUrl } from '../routing/routes.ts';
import type { Read } from './polling.ts';
import type { Secrets } from './secrets.ts';
import type {
  AgentDetail,
  AgentPage,
  AgentQuery,
  CancellationReceipt,
  GatewayOverview,
  TaskCancellation,
  TaskCounts,
  TaskPage,
  TaskQuery,
} from './shapes.ts';

export type ConsoleClient = {
  /** All calls of the SDK: `getTask`, `explainTask`, `submitTask`, `subscribeEvents` … They retry. */
  readonly sdk: TaskGatewayClient;
  /** Whether the gateway secret was given. Without it nothing can be submitted and no session read. */
  readonly hasGatewaySecret: boolean;
  /** A read for a poll, without retries of its own: `polling.watch(client.readOverview())`. */
  readOverview(query?: { readonly tags?: number }): Read<GatewayOverview>;
  readTasks(query: TaskQuery): Read<TaskPage>;
  /** To be read every `COUNTS_MS`, because counting costs the gateway more than a page. */
  readTaskCounts(query: TaskQuery): Read<TaskCounts>;
  readAgents(query: AgentQuery): Read<AgentPage>;
  readAgent(agent_id: AgentId): Read<AgentDetail>;
  readTask(request_id: RequestId): Read<Task>;
  readExplanation(request_id: RequestId): Read<TaskExplanation>;
  /** Cancels tasks, or counts what would be cancelled. One call looks at 1,000 tasks at most. */
  cancelTasks(request: TaskCancellation, signal?: AbortSignal): Promise<CancellationReceipt>;
  /** Drains an agent, or ends that. */
  drainAgent(agent_id: AgentId, draining: boolean): Promise<AgentDetail>;
};

/** The pause between two counts. */
export const COUNTS_MS = 10_000;
/** How long a poll waits for one read. */
const READ_MS = 10_000;

export function createConsoleClient(secrets: Secrets): ConsoleClient {
  const sdk = createClient({
    baseUrl: gatewayUrl(),
    ...(secrets.admin && { adminAuth: secrets.admin }),
    ...(secrets.gateway && { auth: secrets.gateway }),
    maxRetries: 2,
  });
  return {
    sdk,
    hasGatewaySecret: secrets.gateway !== '',
    readOverview: (query = {}) => readTagged((options) => sdk.getOverview(query, options)),
    readTasks: (query) => readTagged((options) => sdk.listTasks(query as SdkTaskQuery, options)),
    readTaskCounts: (query) => readTagged((options) => countTasks(sdk, query, options)),
    readAgents: (query) => readTagged((options) => sdk.listAgents(query, options)),
    readAgent: (agent_id) => readTagged((options) => sdk.getAgent(agent_id, options)),
    readTask: (request_id) => readCompared((options) => sdk.getTask(request_id, options)),
    readExplanation: (request_id) => readCompared((options) => sdk.explainTask(request_id, options)),
    cancelTasks: (request, signal) => sdk.cancelTasks(request as SdkTaskCancellation, { signal }),
    drainAgent: (agent_id, draining) => sdk.drainAgent(agent_id, { draining }),
  };
}

/** Reads a page and returns its counts with its time. */
async function countTasks(
  sdk: TaskGatewayClient,
  query: TaskQuery,
  options: TaggedReadOptions,
): Promise<TaskCounts | null> {
  const page = await sdk.listTasks({ ...(query as SdkTaskQuery), limit: 1, counts: true }, options);
  return page?.counts ? { ...page.counts, time: page.time } : null;
}

/** Turns a call into a read. The ETag keeps the gateway from sending what the console has. */
function readTagged<Value>(call: (options: TaggedReadOptions) => Promise<Value | null>): Read<Value> {
  return async (etag, signal) => {
    let next: string | null = null;
    const value = await call({
      signal,
      maxRetries: 0,
      timeoutMs: READ_MS,
      ...(etag !== null && { ifNoneMatch: etag }),
      onResponse: ({ headers }) => {
        next = headers.get('etag');
      },
    });
    return value === null ? 'unchanged' : { value, etag: next };
  };
}

/** Turns a call without an ETag into a read that compares each value with the one before. */
function readCompared<Value>(call: (options: CallOptions) => Promise<Value>): Read<Value> {
  let before: string | undefined;
  return async (_etag, signal) => {
    const value = await call({ signal, maxRetries: 0, timeoutMs: READ_MS });
    const text = JSON.stringify(value);
    if (text === before) return 'unchanged';
    before = text;
    return { value, etag: null };
  };
}
