/**
 * The administrator's operations of the contract, one function each under the operation's own name. The
 * client loads this file with the first call of one of them, so a page that only submits tasks never loads
 * it.
 */
import type { paths } from '@task-gateway/contract';
import type {
  AgentDetail,
  AgentDrain,
  AgentId,
  AgentPage,
  CancellationReceipt,
  GatewayOverview,
  TaskCancellation,
  TaskPage,
} from './contract.ts';
import type { WithIds } from './id-kinds.ts';
import { requireId } from './ids.ts';
import {
  checkAgentPage,
  checkCancellationReceipt,
  checkDetailOf,
  checkOverview,
  checkTaskPage,
} from './later-responses.ts';
import type { Guard } from './responses.ts';
import type { createSend } from './sending.ts';
import type { CallOptions, FetchResult } from './transport.ts';

type QueryOf<Path extends keyof paths> = paths[Path] extends { get: { parameters: { query?: infer Query } } }
  ? WithIds<NonNullable<Query>>
  : never;

/**
 * The filters of a list of tasks: `status` and `outcome` are lists. `cursor` is the `next_cursor` of the page
 * before. With `counts` the first page says how many tasks match.
 */
export type TaskQuery = QueryOf<'/api/admin/tasks'>;
/** What an overview is asked for. */
export type OverviewQuery = QueryOf<'/api/admin/overview'>;
/** The filters of a list of agents. With `limit` it is a page, and `cursor` is as in `TaskQuery`. */
export type AgentQuery = QueryOf<'/api/admin/agents'>;

/** The options of a read whose response has an `ETag`. */
export type TaggedReadOptions = CallOptions & {
  /**
   * The `ETag` of an earlier response, which `onResponse` gets. The call resolves to null if nothing but
   * `time` has changed since then.
   */
  readonly ifNoneMatch?: string | undefined;
};

/** A read whose response has an `ETag`. Without `ifNoneMatch` it never resolves to null. */
type TaggedRead<Asked extends readonly unknown[], Data> = {
  (...asked: [...Asked, options?: CallOptions & { readonly ifNoneMatch?: undefined }]): Promise<Data>;
  (...asked: [...Asked, options: TaggedReadOptions]): Promise<Data | null>;
};

/**
 * The administrator's calls. All need `adminAuth`. The first one loads their code; if a bundle lacks the file
 * that holds it, the call throws `chunk_not_loaded`.
 */
export type AdminCalls = {
  /**
   * Lists all agents that match, by id. With `limit` it returns one page per call, with the agents in trouble
   * first.
   */
  readonly listAgents: TaggedRead<[query?: AgentQuery], AgentPage>;
  /**
   * Lists tasks as rows, newest first, one page per call. Rows lack whole payloads and results, which
   * `getTask` returns. A page may be empty while `next_cursor` is not null. With `counts: true` the first
   * page says how many tasks match, or at least how many, if `complete` is false.
   */
  readonly listTasks: TaggedRead<[query?: TaskQuery], TaskPage>;
  /**
   * Returns what is going on now, in one read: counts, tags, the oldest waiting tasks and problems. It
   * resolves even while the gateway's store is out; then `store.ok` is false.
   */
  readonly getOverview: TaggedRead<[query?: OverviewQuery], GatewayOverview>;
  /**
   * Cancels the tasks that match, or counts them. One call looks at no more than 1,000 tasks: repeat it with
   * `cursor: next_cursor` until that is null. Throws `ForbiddenError` (`read_only`) where the gateway lets
   * administrators only look.
   */
  cancelTasks(cancellation: TaskCancellation, options?: CallOptions): Promise<CancellationReceipt>;
  /**
   * Returns one agent with its tasks and the last pushes to it. Throws `NotFoundError` (`agent_not_found`) if
   * the agent is not registered.
   */
  readonly getAgent: TaggedRead<[agent_id: AgentId], AgentDetail>;
  /**
   * Drains an agent: it finishes the tasks that it has and gets no others, until a call with `draining:
   * false`. Returns the agent. Throws `NotFoundError` (`agent_not_found`) if the agent is not registered, and
   * `ForbiddenError` (`read_only`) where the gateway lets administrators only look.
   */
  drainAgent(agent_id: AgentId, drain: AgentDrain, options?: CallOptions): Promise<AgentDetail>;
};

type Send = ReturnType<typeof createSend>;
type TaggedPath = '/api/admin/overview' | '/api/admin/tasks' | '/api/admin/agents';

/** Sends one request of the contract and reads its response. */
export type Ask = (
  method: 'get' | 'post',
  path: keyof paths,
  init: {
    readonly headers: Readonly<Record<string, string | undefined>>;
    readonly fetch: (request: Request) => Promise<Response>;
    readonly params?: { readonly path?: object; readonly query?: object };
    readonly querySerializer?: typeof querySerializer;
    readonly body?: object;
    readonly parseAs?: 'stream';
  },
) => Promise<FetchResult>;

/** The contract writes a list as `a,b`. */
const querySerializer = { array: { style: 'form', explode: false } } as const;

export function createAdminCalls(ask: Ask, send: Send): AdminCalls {
  const read =
    <Data>(path: TaggedPath, check: Guard<Data>) =>
    (query: object = {}, options?: TaggedReadOptions): Promise<Data | null> =>
      sendTagged(send, options, check, (init) =>
        ask('get', path, { ...init, params: { query }, querySerializer }),
      );
  return {
    getOverview: read('/api/admin/overview', checkOverview) as AdminCalls['getOverview'],
    listTasks: read('/api/admin/tasks', checkTaskPage) as AdminCalls['listTasks'],
    listAgents: read('/api/admin/agents', checkAgentPage) as AdminCalls['listAgents'],

    getAgent: ((agent_id: AgentId, options?: TaggedReadOptions) =>
      sendTagged(send, options, checkDetailOf(agent_id), (init) =>
        ask('get', '/api/admin/agents/{agent_id}', {
          ...init,
          params: { path: { agent_id: requireId(agent_id) } },
        }),
      )) as AdminCalls['getAgent'],

    drainAgent: (agent_id, { draining }, options) =>
      send(options, 'x-admin-auth', checkDetailOf(agent_id), (init) =>
        ask('post', '/api/admin/agents/{agent_id}/drain', {
          ...init,
          params: { path: { agent_id: requireId(agent_id) } },
          body: { draining },
        }),
      ),

    cancelTasks: (cancellation, options) =>
      send(options, 'x-admin-auth', checkCancellationReceipt, (init) =>
        ask('post', '/api/admin/tasks/cancel', { ...init, body: cancellation }),
      ),
  };
}

/** Makes a read conditional if the options name an `ETag`; the response may then be null. */
function sendTagged<Data>(
  send: Send,
  { ifNoneMatch, ...options }: TaggedReadOptions = {},
  check: Guard<Data>,
  request: Parameters<Send>[3],
): Promise<Data | null> {
  const isConditional = ifNoneMatch !== undefined;
  return send(
    isConditional ? { ...options, headers: { ...options.headers, 'if-none-match': ifNoneMatch } } : options,
    'x-admin-auth',
    (value): value is Data | null => (value === null ? isConditional : check(value)),
    request,
  );
}
