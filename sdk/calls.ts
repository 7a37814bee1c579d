/**
 * The operations of the contract, one function each under the operation's own name. Each adds the secret
 * where the contract expects it: in the body if the request has one, otherwise in a header; never in a URL.
 */
import type { components, paths } from '@task-gateway/contract';
import createFetchClient from 'openapi-fetch';
import type { Ask } from './admin-calls.ts';
import { requireChunk } from './chunks.ts';
import type {
  AgentDeparture,
  AgentHeartbeat,
  AgentRegistration,
  CancelReceipt,
  DepartureReceipt,
  FreeForm,
  HeartbeatReceipt,
  JsonObject,
  JsonResult,
  RegistrationReceipt,
  ReportReceipt,
  RequestId,
  Task,
  TaskClaim,
  TaskReport,
  TaskResult,
  TaskSubmission,
} from './contract.ts';
import { BadRequestError, InvalidOptionError, NotFoundError } from './errors.ts';
import { createId, requireId } from './ids.ts';
import type { LaterCalls } from './later-calls.ts';
import { SUBMISSION_FIELD_NAMES, warnOfUnknownNames } from './option-names.ts';
import {
  checkCancelReceipt,
  checkClaim,
  checkDepartureReceipt,
  checkHeartbeatReceipt,
  checkRegistrationReceipt,
  checkReportReceipt,
  checkTask,
  type Guard,
} from './responses.ts';
import { type CallsDeps, createSend } from './sending.ts';
import { CANCELLED_TEXT } from './settled.ts';
import { createOpenSession, type OpenSession } from './stream/open.ts';
import type { CallOptions } from './transport.ts';

/** The HTTP calls. All of them may throw `ApiError`, `ConnectionError`, `TimeoutError` or `AbortError`. */
export type Calls = LaterCalls & {
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
    ...createLaterCalls(api, send, deps),
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

function pathOf(request_id: RequestId) {
  return { request_id: requireId(request_id) };
}

type TaskCalls = Pick<Calls, 'submitTask' | 'getTask' | 'cancelTask'>;

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

const LATER_CALLS = [
  ...(['explainTask', 'previewMatch', 'listAgents', 'listTasks', 'getOverview', 'listTaskRows'] as const),
  ...(['countTasks', 'cancelTasks', 'listAgentRows', 'getAgent'] as const),
] as const satisfies readonly (keyof LaterCalls)[];

/** The calls whose code the first of them loads. */
function createLaterCalls(api: Api, send: Send, deps: CallsDeps): LaterCalls {
  const load =
    (name: keyof LaterCalls) =>
    async (...asked: readonly unknown[]) => {
      // The options come last.
      const { signal } = (asked.at(-1) ?? {}) as CallOptions;
      const part = await requireChunk(() => import('./later-calls.ts'), signal);
      return await Reflect.apply(
        part.createLaterCalls(api.request as unknown as Ask, send, deps)[name],
        undefined,
        asked,
      );
    };
  return Object.fromEntries(LATER_CALLS.map((name) => [name, load(name)])) as unknown as LaterCalls;
}
