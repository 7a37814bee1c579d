/**
 * The operations of the contract, one function each under the operation's own name. Each fills in the secret where the
 * contract wants it: in the body where there is one, in a header otherwise, never in a URL.
 */
import type { paths } from '@task-gateway/contract';
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
  Task,
  TaskClaim,
  TaskPage,
  TaskReport,
  TaskSubmission,
} from './contract.ts';
import {
  BadRequestError,
  CANCELLED_TEXT,
  ConnectionError,
  InvalidOptionError,
  NotFoundError,
} from './errors.ts';
import { createId } from './ids.ts';
import {
  type CallOptions,
  createStrangerError,
  exchange,
  type Network,
  openOnce,
  refuse,
  type Settings,
} from './transport.ts';

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
  getTask(request_id: string, options?: CallOptions & { readonly wait?: number | undefined }): Promise<Task>;
  /** Cancels a task that has not ended (§4.4); one that has ended is a `BadRequestError`, `task_terminal`. */
  cancelTask(request_id: string, options?: CallOptions): Promise<CancelReceipt>;
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

/** Opens a session's stream once; the signal is this connection's own. */
export type OpenSession = (
  session: string,
  lastEventId: string | undefined,
  options: { readonly signal: AbortSignal } & Pick<CallOptions, 'timeoutMs' | 'headers'>,
) => Promise<ReadableStream<Uint8Array>>;

export type CallsDeps = {
  readonly baseUrl: string;
  readonly auth: string;
  readonly adminAuth: string | undefined;
  readonly network: Network;
  readonly settings: Settings;
  readonly headers: Readonly<Record<string, string>>;
};

type Options = CallOptions | undefined;
type Api = ReturnType<typeof createFetchClient<paths>>;
type Send = ReturnType<typeof createSend>;

/** Creates the calls. */
export function createCalls(deps: CallsDeps): Calls & { openSession: OpenSession } {
  const { baseUrl, headers } = deps;
  const api = createFetchClient<paths>({ baseUrl, headers, redirect: 'manual' });
  const send = createSend(deps);
  return {
    ...createTaskCalls(deps, api, send),
    ...createAgentCalls(deps, api, send),
    ...createAdminCalls(deps, api, send),
    openSession: createOpenSession(deps, api),
  };
}

/** Fills in what a call leaves open. */
function createSend({ network, settings }: CallsDeps) {
  return <Data>(options: Options, work: Parameters<typeof exchange<Data>>[2], extraMs = 0) => {
    const timeoutMs = (options?.timeoutMs ?? settings.timeoutMs) + extraMs;
    const maxRetries = options?.maxRetries ?? settings.maxRetries;
    return exchange<Data>(network, { signal: options?.signal, timeoutMs, maxRetries }, work);
  };
}

function bearer(auth: string): { authorization: string } {
  return { authorization: `Bearer ${auth}` };
}

/** A success that must have a body and has none comes from somebody else. */
function demand<Data>(data: Data | undefined): Data {
  if (data === undefined || data === null) throw createStrangerError();
  return data;
}

function createTaskCalls(
  { auth }: CallsDeps,
  api: Api,
  send: Send,
): Pick<Calls, 'submitTask' | 'getTask' | 'cancelTask'> {
  const calls: Pick<Calls, 'submitTask' | 'getTask' | 'cancelTask'> = {
    async submitTask(submission, options) {
      const body = { ...submission, auth };
      const header = { 'Idempotency-Key': options?.idempotencyKey ?? createId() };
      return demand(
        await send(options, (fetch) =>
          api.POST('/api/cli/tasks', { params: { header }, body, headers: options?.headers ?? {}, fetch }),
        ),
      );
    },

    async getTask(request_id, options) {
      const wait = options?.wait;
      const params = { path: { request_id }, query: wait === undefined ? {} : { wait } };
      const headers = { ...options?.headers, ...bearer(auth) };
      return demand(
        await send(
          options,
          (fetch) => api.GET('/api/cli/tasks/{request_id}', { params, headers, fetch }),
          (wait ?? 0) * 1_000,
        ),
      );
    },

    async cancelTask(request_id, options) {
      const params = { path: { request_id } };
      const headers = { ...options?.headers, ...bearer(auth) };
      try {
        return demand(
          await send(options, (fetch) =>
            api.POST('/api/cli/tasks/{request_id}/cancel', { params, headers, fetch }),
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
  { auth }: CallsDeps,
  api: Api,
  send: Send,
): Pick<Calls, 'registerAgent' | 'heartbeatAgent' | 'claimTask' | 'reportResult' | 'unregisterAgent'> {
  const headersOf = (options: Options) => options?.headers ?? {};
  return {
    async registerAgent(registration, options) {
      const body = { ...registration, auth };
      const headers = headersOf(options);
      return demand(
        await send(options, (fetch) => api.POST('/api/agent/register', { body, headers, fetch })),
      );
    },

    async heartbeatAgent(heartbeat, options) {
      const body = { ...heartbeat, auth };
      const headers = headersOf(options);
      return demand(
        await send(options, (fetch) => api.POST('/api/agent/heartbeat', { body, headers, fetch })),
      );
    },

    async claimTask(claim, options) {
      const body = { ...claim, auth };
      const headers = headersOf(options);
      const task = await send(
        options,
        (fetch) => api.POST('/api/agent/claim', { body, headers, fetch }),
        (claim.wait ?? 0) * 1_000,
      );
      return task ?? null;
    },

    async reportResult(report, options) {
      const body = { ...report, auth };
      const headers = headersOf(options);
      return demand(await send(options, (fetch) => api.POST('/api/agent/result', { body, headers, fetch })));
    },

    async unregisterAgent(departure, options) {
      const body = { ...departure, auth };
      const headers = headersOf(options);
      try {
        return demand(
          await send(options, (fetch) => api.POST('/api/agent/unregister', { body, headers, fetch })),
        );
      } catch (error) {
        if (!isRepeat(error, 'agent_not_found')) throw error;
        return { ok: true, agent_id: departure.agent_id };
      }
    },
  };
}

function createAdminCalls(
  { adminAuth }: CallsDeps,
  api: Api,
  send: Send,
): Pick<Calls, 'listAgents' | 'listTasks'> {
  const headersOf = (options: Options) => {
    if (adminAuth === undefined) {
      throw new InvalidOptionError('Listings need the administrator’s secret: give createClient adminAuth.');
    }
    return { ...options?.headers, 'X-Admin-Auth': adminAuth };
  };
  return {
    async listAgents(options) {
      const headers = headersOf(options);
      return demand(await send(options, (fetch) => api.GET('/api/admin/agents', { headers, fetch })));
    },

    async listTasks(query = {}, options) {
      const headers = headersOf(options);
      return demand(
        await send(options, (fetch) => api.GET('/api/admin/tasks', { params: { query }, headers, fetch })),
      );
    },
  };
}

function createOpenSession({ auth, network, settings }: CallsDeps, api: Api): OpenSession {
  return async (session, lastEventId, { signal, timeoutMs = settings.timeoutMs, headers }) => {
    // An id that no header can carry is none of the gateway's; without one everything is sent again.
    const header = lastEventId && /^[\x20-\x7e]+$/.test(lastEventId) ? { 'Last-Event-ID': lastEventId } : {};
    const answer = await api.GET('/api/cli/events', {
      params: { query: { cli_session_id: session }, header },
      headers: { ...headers, accept: 'text/event-stream', ...bearer(auth) },
      parseAs: 'stream',
      fetch: (request) => openOnce(network, { signal, timeoutMs }, request),
    });
    if (!answer.response.ok) throw refuse(network, answer, 1);
    const isStream = answer.response.headers.get('content-type')?.startsWith('text/event-stream');
    if (answer.data && isStream) return answer.data;
    await answer.data?.cancel();
    throw new ConnectionError(
      'not_an_event_stream',
      'What answers at this address is not an event stream. Check baseUrl.',
    );
  };
}
