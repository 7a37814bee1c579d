/**
 * The operations of the contract, one function each under the operation's own name. Each fills in the secret where the
 * contract wants it: in the body where there is one, in a header otherwise, never in a URL.
 */
import type { components, paths } from '@task-gateway/contract';
import createFetchClient from 'openapi-fetch';
import type {
  AgentDeparture,
  AgentHeartbeat,
  AgentListings,
  AgentRegistration,
  CancelReceipt,
  DepartureReceipt,
  HeartbeatReceipt,
  RegistrationReceipt,
  ReportReceipt,
  RequestId,
  Task,
  TaskClaim,
  TaskPage,
  TaskReport,
  TaskSubmission,
} from './contract.ts';
import { BadRequestError, CANCELLED_TEXT, InvalidOptionError, NotFoundError } from './errors.ts';
import { createId } from './ids.ts';
import { bearer, withSecret } from './secrets.ts';
import { createOpenSession, type OpenSession } from './stream/open.ts';
import { type CallOptions, createStrangerError, exchange, type Network, type Settings } from './transport.ts';

/** Which tasks the administrator wants to see; `cursor` is a page's `next_cursor`. */
export type TaskQuery = NonNullable<paths['/api/admin/tasks']['get']['parameters']['query']>;

/** The HTTP calls. All of them may throw `ApiError`, `ConnectionError`, `TimeoutError` and `AbortError`. */
export type Calls = {
  /**
   * Hands in a task (§4.1) and answers it as it is then, `pending`. Repeated safely: it carries an idempotency key,
   * made for this call unless one is given.
   */
  submitTask(
    submission: TaskSubmission,
    options?: CallOptions & { readonly idempotencyKey?: string | undefined },
  ): Promise<Task>;
  /** Answers a task (§4.3); with `wait` (seconds, at most 60) as soon as it has ended or the wait is over. */
  getTask(
    request_id: RequestId,
    options?: CallOptions & { readonly wait?: number | undefined },
  ): Promise<Task>;
  /** Cancels a task that has not ended (§4.4); one that has ended is a `BadRequestError`, `task_terminal`. */
  cancelTask(request_id: RequestId, options?: CallOptions): Promise<CancelReceipt>;
  /** Registers an agent, or writes its registration anew (§4.5). */
  registerAgent(registration: AgentRegistration, options?: CallOptions): Promise<RegistrationReceipt>;
  /** Says that an agent lives (§4.6); one that is not registered is a `NotFoundError`, `agent_not_found`. */
  heartbeatAgent(heartbeat: AgentHeartbeat, options?: CallOptions): Promise<HeartbeatReceipt>;
  /** Fetches a task for an agent registered as `pull`; null if none came within `wait` (seconds, at most 60). */
  claimTask(claim: TaskClaim, options?: CallOptions): Promise<Task | null>;
  /** Reports progress, success or failure of a task (§4.7); `accepted: false` if it had ended before. */
  reportResult(report: TaskReport, options?: CallOptions): Promise<ReportReceipt>;
  /** Takes an agent out (§4.8). */
  unregisterAgent(departure: AgentDeparture, options?: CallOptions): Promise<DepartureReceipt>;
  /** Lists the agents (§4.9). Needs `adminAuth`. */
  listAgents(options?: CallOptions): Promise<AgentListings>;
  /** Lists tasks, newest first, a page at a time. Needs `adminAuth`. */
  listTasks(query?: TaskQuery, options?: CallOptions): Promise<TaskPage>;
};

export type CallsDeps = Network &
  Settings & {
    readonly baseUrl: string;
    /** Answer the secret of the moment. */
    readonly auth: () => Promise<string>;
    readonly adminAuth: (() => Promise<string>) | undefined;
    readonly headers: Readonly<Record<string, string>>;
  };

type Options = CallOptions | undefined;
type Api = ReturnType<typeof createFetchClient<paths>>;
type Send = ReturnType<typeof createSend>;
/** Builds a request with the secret it is given and sends it with that `fetch`. */
type SendWork<Data> = (
  fetch: (request: Request) => Promise<Response>,
  secret: string,
) => ReturnType<Parameters<typeof exchange<Data>>[2]>;

/** Creates the calls. */
export function createCalls(deps: CallsDeps): Calls & { openSession: OpenSession } {
  const { baseUrl, headers } = deps;
  const api = createFetchClient<paths>({ baseUrl, headers, redirect: 'manual' });
  const send = createSend(deps, deps.auth);
  return {
    ...createTaskCalls(api, send),
    ...createAgentCalls(api, send),
    ...createAdminCalls(deps, api),
    openSession: createOpenSession(deps, (request) =>
      api.GET('/api/cli/events', { ...request, parseAs: 'stream' }),
    ),
  };
}

/** Fills in what a call leaves open. */
function createSend(deps: CallsDeps, askSecret: () => Promise<string>) {
  return <Data>(options: Options, work: SendWork<Data>, extraMs = 0): Promise<Data | undefined> => {
    const timeoutMs = (options?.timeoutMs ?? deps.timeoutMs) + extraMs;
    const maxRetries = options?.maxRetries ?? deps.maxRetries;
    const { signal, onResponse } = options ?? {};
    return withSecret(askSecret, (secret) =>
      exchange<Data>(deps, { signal, timeoutMs, maxRetries, onResponse }, (fetch) => work(fetch, secret)),
    );
  };
}

/** A success that must have a body and has none comes from somebody else. */
function demand<Data>(data: Data | undefined): Data {
  if (data === undefined || data === null) throw createStrangerError();
  return data;
}

/** A task as the contract promises it; its types say less than its words. */
function demandTask(data: components['schemas']['TaskInfo'] | undefined): Task {
  return demand(data) as Task;
}

function createTaskCalls(api: Api, send: Send): Pick<Calls, 'submitTask' | 'getTask' | 'cancelTask'> {
  const calls: Pick<Calls, 'submitTask' | 'getTask' | 'cancelTask'> = {
    async submitTask(submission, options) {
      const header = { 'Idempotency-Key': options?.idempotencyKey ?? createId() };
      const headers = options?.headers ?? {};
      return demandTask(
        await send(options, (fetch, auth) =>
          api.POST('/api/cli/tasks', { params: { header }, body: { ...submission, auth }, headers, fetch }),
        ),
      );
    },

    async getTask(request_id, options) {
      const wait = options?.wait;
      const params = { path: { request_id }, query: wait === undefined ? {} : { wait } };
      return demandTask(
        await send(
          options,
          (fetch, auth) =>
            api.GET('/api/cli/tasks/{request_id}', { params, headers: bearer(options, auth), fetch }),
          (wait ?? 0) * 1_000,
        ),
      );
    },

    async cancelTask(request_id, options) {
      const params = { path: { request_id } };
      try {
        return demand(
          await send(options, (fetch, auth) =>
            api.POST('/api/cli/tasks/{request_id}/cancel', { params, headers: bearer(options, auth), fetch }),
          ),
        );
      } catch (error) {
        if (!isRepeat(error, 'task_terminal')) throw error;
        const task = await calls.getTask(request_id, options);
        if (task.error_info !== CANCELLED_TEXT) throw error;
        return { ok: true, request_id };
      }
    },
  };
  return calls;
}

/** Whether a repeat was refused because an earlier attempt, whose answer was lost, may have had its effect. */
function isRepeat(error: unknown, code: string): boolean {
  const refused = error instanceof BadRequestError || error instanceof NotFoundError;
  return refused && error.code === code && error.attempts > 1;
}

function createAgentCalls(
  api: Api,
  send: Send,
): Pick<Calls, 'registerAgent' | 'heartbeatAgent' | 'claimTask' | 'reportResult' | 'unregisterAgent'> {
  const headersOf = (options: Options) => options?.headers ?? {};
  return {
    async registerAgent(registration, options) {
      const headers = headersOf(options);
      return demand(
        await send(options, (fetch, auth) =>
          api.POST('/api/agent/register', { body: { ...registration, auth }, headers, fetch }),
        ),
      );
    },

    async heartbeatAgent(heartbeat, options) {
      const headers = headersOf(options);
      return demand(
        await send(options, (fetch, auth) =>
          api.POST('/api/agent/heartbeat', { body: { ...heartbeat, auth }, headers, fetch }),
        ),
      );
    },

    async claimTask(claim, options) {
      const headers = headersOf(options);
      const task = await send(
        options,
        (fetch, auth) => api.POST('/api/agent/claim', { body: { ...claim, auth }, headers, fetch }),
        (claim.wait ?? 0) * 1_000,
      );
      return task ? demandTask(task) : null;
    },

    async reportResult(report, options) {
      const headers = headersOf(options);
      return demand(
        await send(options, (fetch, auth) =>
          api.POST('/api/agent/result', { body: { ...report, auth }, headers, fetch }),
        ),
      );
    },

    async unregisterAgent(departure, options) {
      const headers = headersOf(options);
      try {
        return demand(
          await send(options, (fetch, auth) =>
            api.POST('/api/agent/unregister', { body: { ...departure, auth }, headers, fetch }),
          ),
        );
      } catch (error) {
        if (!isRepeat(error, 'agent_not_found')) throw error;
        return { ok: true, agent_id: departure.agent_id };
      }
    },
  };
}

function createAdminCalls(deps: CallsDeps, api: Api): Pick<Calls, 'listAgents' | 'listTasks'> {
  const send = createSend(deps, deps.adminAuth ?? refuseListing);
  const headersOf = (options: Options, secret: string) => ({ ...options?.headers, 'X-Admin-Auth': secret });
  return {
    async listAgents(options) {
      return demand(
        await send(options, (fetch, secret) =>
          api.GET('/api/admin/agents', { headers: headersOf(options, secret), fetch }),
        ),
      );
    },

    async listTasks(query = {}, options) {
      const page = await send(options, (fetch, secret) =>
        api.GET('/api/admin/tasks', { params: { query }, headers: headersOf(options, secret), fetch }),
      );
      return demand(page) as TaskPage;
    },
  };
}

async function refuseListing(): Promise<never> {
  throw new InvalidOptionError(
    'Listings need the administrator’s secret: give createClient adminAuth, or set TASK_GATEWAY_ADMIN_AUTH.',
  );
}
