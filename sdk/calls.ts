/**
 * The operations of the contract, one function each under the operation's own name. Each adds the secret where the
 * contract expects it: in the body if the request has one, otherwise in a header; never in a URL.
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
import { BadRequestError, InvalidOptionError, NotFoundError } from './errors.ts';
import { createId } from './ids.ts';
import { createBearerHeaders, withSecret } from './secrets.ts';
import { CANCELLED_TEXT } from './settled.ts';
import { createOpenSession, type OpenSession } from './stream/open.ts';
import {
  type CallOptions,
  type CallSettings,
  createNotGatewayError,
  exchange,
  type Network,
} from './transport.ts';

/** The filters of a list of tasks. `cursor` is the `next_cursor` of the previous page. */
export type TaskQuery = NonNullable<paths['/api/admin/tasks']['get']['parameters']['query']>;

/** The HTTP calls. All of them may throw `ApiError`, `ConnectionError`, `TimeoutError` or `AbortError`. */
export type Calls = {
  /**
   * Submits a task and returns it as it was accepted, `pending`. It carries an idempotency key, a random one unless
   * given, so that a retry finds the task which an earlier attempt created.
   */
  submitTask(
    submission: TaskSubmission,
    options?: CallOptions & { readonly idempotencyKey?: string | undefined },
  ): Promise<Task>;
  /** Returns a task; with `wait` (seconds, at most 60) once it is in a terminal state or that time has passed. */
  getTask(
    request_id: RequestId,
    options?: CallOptions & { readonly wait?: number | undefined },
  ): Promise<Task>;
  /** Cancels a task. Throws `BadRequestError` (`task_terminal`) if it is in a terminal state already. */
  cancelTask(request_id: RequestId, options?: CallOptions): Promise<CancelReceipt>;
  /** Registers an agent, or replaces its registration. */
  registerAgent(registration: AgentRegistration, options?: CallOptions): Promise<RegistrationReceipt>;
  /** Sends an agent's heartbeat. Throws `NotFoundError` (`agent_not_found`) if the agent is not registered. */
  heartbeatAgent(heartbeat: AgentHeartbeat, options?: CallOptions): Promise<HeartbeatReceipt>;
  /** Claims a task for an agent registered as `pull`; null if none came within `wait` (seconds, at most 60). */
  claimTask(claim: TaskClaim, options?: CallOptions): Promise<Task | null>;
  /** Reports progress, success or failure of a task. `accepted` is false if it was in a terminal state already. */
  reportResult(report: TaskReport, options?: CallOptions): Promise<ReportReceipt>;
  /** Unregisters an agent. */
  unregisterAgent(departure: AgentDeparture, options?: CallOptions): Promise<DepartureReceipt>;
  /** Lists all agents. Needs `adminAuth`. */
  listAgents(options?: CallOptions): Promise<AgentListings>;
  /** Lists tasks, newest first, one page per call. Needs `adminAuth`. */
  listTasks(query?: TaskQuery, options?: CallOptions): Promise<TaskPage>;
};

export type CallsDeps = Network &
  CallSettings & {
    readonly baseUrl: string;
    /** Resolves to the current secret; so does `adminAuth`. */
    readonly auth: () => Promise<string>;
    readonly adminAuth: (() => Promise<string>) | undefined;
    readonly headers: Readonly<Record<string, string>>;
  };

type Options = CallOptions | undefined;
type Api = ReturnType<typeof createFetchClient<paths>>;
type Send = ReturnType<typeof createSend>;
/** Builds a request that carries `secret` and sends it with `fetch`. */
type SecretRequest<Data> = (
  fetch: (request: Request) => Promise<Response>,
  secret: string,
) => ReturnType<Parameters<typeof exchange<Data>>[2]>;

/** Creates the calls, and the function that opens event streams with the same settings. */
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

/** Creates a function that makes one call with its options, the client's where these are absent, and a secret. */
function createSend(deps: CallsDeps, getSecret: () => Promise<string>) {
  return <Data>(options: Options, request: SecretRequest<Data>, extraMs = 0): Promise<Data | undefined> => {
    const timeoutMs = (options?.timeoutMs ?? deps.timeoutMs) + extraMs;
    const maxRetries = options?.maxRetries ?? deps.maxRetries;
    const { signal, onResponse } = options ?? {};
    return withSecret(getSecret, (secret) =>
      exchange<Data>(deps, { signal, timeoutMs, maxRetries, onResponse }, (fetch) => request(fetch, secret)),
    );
  };
}

/** A successful response without the body it must have was not sent by a gateway. */
function requireBody<Data>(data: Data | undefined): Data {
  if (data === undefined || data === null) throw createNotGatewayError();
  return data;
}

/** Returns the body as a task. `Task` expresses what the contract promises in prose and its schema can't. */
function requireTask(data: components['schemas']['TaskInfo'] | undefined): Task {
  return requireBody(data) as Task;
}

function createTaskCalls(api: Api, send: Send): Pick<Calls, 'submitTask' | 'getTask' | 'cancelTask'> {
  const calls: Pick<Calls, 'submitTask' | 'getTask' | 'cancelTask'> = {
    async submitTask(submission, options) {
      const header = { 'Idempotency-Key': options?.idempotencyKey ?? createId() };
      const headers = options?.headers ?? {};
      return requireTask(
        await send(options, (fetch, auth) =>
          api.POST('/api/cli/tasks', { params: { header }, body: { ...submission, auth }, headers, fetch }),
        ),
      );
    },

    async getTask(request_id, options) {
      const wait = options?.wait;
      const params = { path: { request_id }, query: wait === undefined ? {} : { wait } };
      return requireTask(
        await send(
          options,
          (fetch, auth) =>
            api.GET('/api/cli/tasks/{request_id}', {
              params,
              headers: createBearerHeaders(options, auth),
              fetch,
            }),
          (wait ?? 0) * 1_000,
        ),
      );
    },

    async cancelTask(request_id, options) {
      const params = { path: { request_id } };
      try {
        return requireBody(
          await send(options, (fetch, auth) =>
            api.POST('/api/cli/tasks/{request_id}/cancel', {
              params,
              headers: createBearerHeaders(options, auth),
              fetch,
            }),
          ),
        );
      } catch (error) {
        if (!mayHaveTakenEffect(error, 'task_terminal')) throw error;
        const task = await calls.getTask(request_id, options);
        if (task.error_info !== CANCELLED_TEXT) throw error;
        return { ok: true, request_id };
      }
    },
  };
  return calls;
}

/** Whether a retry may have failed only because an earlier attempt, whose response was lost, took effect. */
function mayHaveTakenEffect(error: unknown, code: string): boolean {
  const isRejected = error instanceof BadRequestError || error instanceof NotFoundError;
  return isRejected && error.code === code && error.attempts > 1;
}

function createAgentCalls(
  api: Api,
  send: Send,
): Pick<Calls, 'registerAgent' | 'heartbeatAgent' | 'claimTask' | 'reportResult' | 'unregisterAgent'> {
  const headersOf = (options: Options) => options?.headers ?? {};
  return {
    async registerAgent(registration, options) {
      const headers = headersOf(options);
      return requireBody(
        await send(options, (fetch, auth) =>
          api.POST('/api/agent/register', { body: { ...registration, auth }, headers, fetch }),
        ),
      );
    },

    async heartbeatAgent(heartbeat, options) {
      const headers = headersOf(options);
      return requireBody(
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
      return task ? requireTask(task) : null;
    },

    async reportResult(report, options) {
      const headers = headersOf(options);
      return requireBody(
        await send(options, (fetch, auth) =>
          api.POST('/api/agent/result', { body: { ...report, auth }, headers, fetch }),
        ),
      );
    },

    async unregisterAgent(departure, options) {
      const headers = headersOf(options);
      try {
        return requireBody(
          await send(options, (fetch, auth) =>
            api.POST('/api/agent/unregister', { body: { ...departure, auth }, headers, fetch }),
          ),
        );
      } catch (error) {
        if (!mayHaveTakenEffect(error, 'agent_not_found')) throw error;
        return { ok: true, agent_id: departure.agent_id };
      }
    },
  };
}

function createAdminCalls(deps: CallsDeps, api: Api): Pick<Calls, 'listAgents' | 'listTasks'> {
  const send = createSend(deps, deps.adminAuth ?? throwMissingAdminAuth);
  const headersOf = (options: Options, secret: string) => ({ ...options?.headers, 'X-Admin-Auth': secret });
  return {
    async listAgents(options) {
      return requireBody(
        await send(options, (fetch, secret) =>
          api.GET('/api/admin/agents', { headers: headersOf(options, secret), fetch }),
        ),
      );
    },

    async listTasks(query = {}, options) {
      const page = await send(options, (fetch, secret) =>
        api.GET('/api/admin/tasks', { params: { query }, headers: headersOf(options, secret), fetch }),
      );
      return requireBody(page) as TaskPage;
    },
  };
}

async function throwMissingAdminAuth(): Promise<never> {
  throw new InvalidOptionError(
    'Listings need the administrator’s secret: give createClient adminAuth, or set TASK_GATEWAY_ADMIN_AUTH.',
  );
}
