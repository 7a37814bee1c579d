/**
 * The operations of the contract, one function each under the operation's own name. Each adds the secret
 * where the contract expects it: in the body if the request has one, otherwise in a header; never in a URL.
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
  FreeForm,
  HeartbeatReceipt,
  JsonObject,
  JsonResult,
  MatchPreview,
  MatchQuery,
  RegistrationReceipt,
  ReportReceipt,
  RequestId,
  Task,
  TaskClaim,
  TaskExplanation,
  TaskPage,
  TaskReport,
  TaskResult,
  TaskSubmission,
} from './contract.ts';
import { BadRequestError, InvalidOptionError, NotFoundError } from './errors.ts';
import { createId } from './ids.ts';
import { SUBMISSION_FIELD_NAMES, warnOfUnknownNames } from './option-names.ts';
import {
  checkAgentListings,
  checkCancelReceipt,
  checkClaim,
  checkDepartureReceipt,
  checkExplanation,
  checkHeartbeatReceipt,
  checkMatchPreview,
  checkRegistrationReceipt,
  checkReportReceipt,
  checkTask,
  checkTaskPage,
  type Guard,
} from './responses.ts';
import { type CallsDeps, createSend } from './sending.ts';
import { CANCELLED_TEXT } from './settled.ts';
import { createOpenSession, type OpenSession } from './stream/open.ts';
import type { CallOptions } from './transport.ts';

/** The filters of a list of tasks. `cursor` is the `next_cursor` of the previous page. */
export type TaskQuery = NonNullable<paths['/api/admin/tasks']['get']['parameters']['query']>;

/** The HTTP calls. All of them may throw `ApiError`, `ConnectionError`, `TimeoutError` or `AbortError`. */
export type Calls = {
  /**
   * Submits a task and returns it as it was accepted, `pending`. It carries an idempotency key, a random one
   * unless given, so that a retry finds the task which an earlier attempt created. Without `queue_timeout`
   * the task fails at once if no agent is free. `Result` is the caller's word: it is not checked.
   */
  submitTask<Payload extends JsonObject = FreeForm, Result extends JsonResult = TaskResult>(
    submission: TaskSubmission<Payload>,
    options?: CallOptions & { readonly idempotencyKey?: string | undefined },
  ): Promise<Task<Payload, Result>>;
  /**
   * Returns a task; with `wait` (seconds, over 60 counts as 60) once it is in a terminal state or that time
   * has passed.
   * `Payload` and `Result` are the caller's word: they are not checked.
   */
  getTask<Payload extends JsonObject = FreeForm, Result extends JsonResult = TaskResult>(
    request_id: RequestId,
    options?: CallOptions & { readonly wait?: number | undefined },
  ): Promise<Task<Payload, Result>>;
  /**
   * Explains a task: what happened to it, which agents qualify for it, and what to do if it does not run.
   * Without `auth` it needs `adminAuth`, as `getTask` and `previewMatch` do.
   */
  explainTask(request_id: RequestId, options?: CallOptions): Promise<TaskExplanation>;
  /** Returns which agents would qualify for a task with these tags, without submitting one. */
  previewMatch(query: MatchQuery, options?: CallOptions): Promise<MatchPreview>;
  /** Cancels a task. Throws `BadRequestError` (`task_terminal`) if it is in a terminal state already. */
  cancelTask(request_id: RequestId, options?: CallOptions): Promise<CancelReceipt>;
  /** Registers an agent, or replaces its registration. */
  registerAgent(registration: AgentRegistration, options?: CallOptions): Promise<RegistrationReceipt>;
  /**
   * Sends an agent's heartbeat. Throws `NotFoundError` (`agent_not_found`) if the agent is not registered.
   */
  heartbeatAgent(heartbeat: AgentHeartbeat, options?: CallOptions): Promise<HeartbeatReceipt>;
  /**
   * Claims a task for an agent registered as `pull`; null if none came within `wait` (seconds, over
   * 60 counts as 60).
   */
  claimTask(claim: TaskClaim, options?: CallOptions): Promise<Task | null>;
  /**
   * Reports progress, success or failure of a task. `accepted` is false if it was in a terminal state
   * already.
   */
  reportResult(report: TaskReport, options?: CallOptions): Promise<ReportReceipt>;
  /** Unregisters an agent. */
  unregisterAgent(departure: AgentDeparture, options?: CallOptions): Promise<DepartureReceipt>;
  /** Lists all agents. Needs `adminAuth`. */
  listAgents(options?: CallOptions): Promise<AgentListings>;
  /** Lists tasks, newest first, one page per call. Needs `adminAuth`. */
  listTasks(query?: TaskQuery, options?: CallOptions): Promise<TaskPage>;
};

type Schemas = components['schemas'];
type Api = ReturnType<typeof createFetchClient<paths>>;
type Send = ReturnType<typeof createSend>;

/** Creates the calls, and the function that opens event streams with the same settings. */
export function createCalls(deps: CallsDeps): Calls & { openSession: OpenSession } {
  const { baseUrl, headers } = deps;
  const api = createFetchClient<paths>({ baseUrl, headers, redirect: 'manual', bodySerializer: writeJson });
  const send = createSend(deps);
  return {
    ...createTaskCalls(api, send, deps),
    ...createAgentCalls(api, send),
    ...createAdminCalls(api, send),
    openSession: createOpenSession(deps, (request) =>
      api.GET('/api/cli/events', { ...request, parseAs: 'stream' }),
    ),
  };
}

function writeJson(body: unknown): string {
  try {
    return JSON.stringify(body);
  } catch (cause) {
    throw new InvalidOptionError('The request can’t be written as JSON.', { cause });
  }
}

/** Returns an id that a path can hold: a URL takes `.` and `..` for steps between folders. */
function requireId(id: string): string {
  if (typeof id === 'string' && !/^\.{0,2}$/.test(id)) return id;
  throw new InvalidOptionError('An id must be a text other than "", "." and "..".');
}

function pathOf(request_id: RequestId) {
  return { request_id: requireId(request_id) };
}

type TaskCalls = Pick<Calls, 'submitTask' | 'getTask' | 'explainTask' | 'previewMatch' | 'cancelTask'>;

function createTaskCalls(api: Api, send: Send, { readsBy }: CallsDeps): TaskCalls {
  const calls: TaskCalls = {
    async submitTask<Payload, Result>(
      submission: TaskSubmission<Payload>,
      options?: CallOptions & { readonly idempotencyKey?: string | undefined },
    ) {
      warnOfUnknownNames('Submissions', submission, SUBMISSION_FIELD_NAMES);
      const header = { 'Idempotency-Key': options?.idempotencyKey ?? createId() };
      const body = (auth: string) => ({ ...submission, auth }) as unknown as Schemas['TaskSubmission'];
      return await send(options, 'body', checkTask<Payload, Result>, (init, auth) =>
        api.POST('/api/cli/tasks', { ...init, params: { header }, body: body(auth) }),
      );
    },

    async getTask<Payload, Result>(
      request_id: RequestId,
      options?: CallOptions & { readonly wait?: number | undefined },
    ) {
      const { wait } = options ?? {};
      // What is undefined is not sent.
      const query = { wait } as { wait: number };
      return await send(
        options,
        readsBy,
        checkTask<Payload, Result>,
        (init) =>
          api.GET('/api/cli/tasks/{request_id}', { ...init, params: { path: pathOf(request_id), query } }),
        wait,
      );
    },

    explainTask: (request_id, options) =>
      send(options, readsBy, checkExplanation, (init) =>
        api.GET('/api/cli/tasks/{request_id}/explain', { ...init, params: { path: pathOf(request_id) } }),
      ),

    // Where it is the administrator's, a header has the secret: JSON leaves out what is undefined.
    previewMatch: (query, options) =>
      send(options, readsBy, checkMatchPreview, (init, secret) =>
        api.POST('/api/cli/match', {
          ...init,
          body: (readsBy === 'authorization' ? { ...query, auth: secret } : query) as never,
        }),
      ),

    async cancelTask(request_id, options) {
      try {
        return await send(options, 'authorization', checkCancelReceipt, (init) =>
          api.POST('/api/cli/tasks/{request_id}/cancel', { ...init, params: { path: pathOf(request_id) } }),
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

/** The calls of agents; the body of each carries the secret. */
type AgentPath = Extract<keyof paths, `/api/agent/${string}`>;

function createAgentCalls(
  api: Api,
  send: Send,
): Pick<Calls, 'registerAgent' | 'heartbeatAgent' | 'claimTask' | 'reportResult' | 'unregisterAgent'> {
  const post =
    <Data>(path: AgentPath, check: Guard<Data>) =>
    (body: { readonly agent_id: string; readonly wait?: number }, options?: CallOptions): Promise<Data> =>
      send(
        options,
        'body',
        check,
        // The type of a call says what its body holds.
        (init, auth) => api.POST(path, { ...init, body: { ...body, auth } as never }),
        body.wait,
      );
  const claim = post('/api/agent/claim', checkClaim);
  const unregister = post('/api/agent/unregister', checkDepartureReceipt);
  return {
    registerAgent: post('/api/agent/register', checkRegistrationReceipt),
    heartbeatAgent: post('/api/agent/heartbeat', checkHeartbeatReceipt),
    reportResult: post('/api/agent/result', checkReportReceipt),
    claimTask: async (body, options) => (await claim(body, options)) ?? null,

    async unregisterAgent(departure, options) {
      try {
        return await unregister(departure, options);
      } catch (error) {
        if (!mayHaveTakenEffect(error, 'agent_not_found')) throw error;
        return { ok: true, agent_id: departure.agent_id };
      }
    },
  };
}

function createAdminCalls(api: Api, send: Send): Pick<Calls, 'listAgents' | 'listTasks'> {
  return {
    listAgents: (options) =>
      send(options, 'x-admin-auth', checkAgentListings, (init) => api.GET('/api/admin/agents', init)),

    listTasks: (query = {}, options) =>
      send(options, 'x-admin-auth', checkTaskPage, (init) =>
        api.GET('/api/admin/tasks', { ...init, params: { query } }),
      ),
  };
}
