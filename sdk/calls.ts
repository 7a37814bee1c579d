/**
 * The operations of the contract, one function each under the operation's own name. Each request carries the
 * secret where the contract expects it: in the body if there is one, otherwise in a header; never in a URL.
 */
import type { components, paths } from '@task-gateway/contract';
import createFetchClient from 'openapi-fetch';
import type { Ask } from './admin-calls.ts';
import { loadChunk } from './chunks.ts';
import type {
  CancelReceipt,
  FreeForm,
  JsonObject,
  JsonResult,
  RequestId,
  Task,
  TaskResult,
  TaskSubmission,
} from './contract.ts';
import { InvalidOptionError, mayHaveTakenEffect, nameTask } from './errors.ts';
import { createId, requireId } from './ids.ts';
import type { LaterCalls } from './later-calls.ts';
import { SUBMISSION_FIELD_NAMES, warnOfUnknownNames } from './option-names.ts';
import { checkCancelReceipt, checkTask } from './responses.ts';
import { type CallsDeps, createSend } from './sending.ts';
import { addOutcome, isSettled, outcomeOf } from './settled.ts';
import type { StreamDeps } from './stream/session.ts';
import type { CallOptions } from './transport.ts';

/** The HTTP calls. All of them may throw `ApiError`, `ConnectionError`, `TimeoutError` or `AbortError`. */
export type Calls = LaterCalls & {
  /**
   * Submits a task and returns it as the gateway accepted it, `pending`. The request carries an idempotency
   * key, a random one unless you give one, so that a retry finds the task that an earlier attempt created;
   * every error has the key. Without `queue_timeout` the task fails at once if no agent is free. Nothing
   * checks `Result`: it is the caller's claim.
   */
  submitTask<Payload extends JsonObject = FreeForm, Result extends JsonResult = TaskResult>(
    submission: TaskSubmission<Payload>,
    options?: CallOptions & { readonly idempotencyKey?: string | undefined },
  ): Promise<Task<Payload, Result>>;
  /**
   * Returns a task. With `wait` it resolves once the task is in a terminal state, or after so many seconds
   * (at most 60). Nothing checks `Payload` and `Result`: they are the caller's claim.
   */
  getTask<Payload extends JsonObject = FreeForm, Result extends JsonResult = TaskResult>(
    request_id: RequestId,
    options?: CallOptions & { readonly wait?: number | undefined },
  ): Promise<Task<Payload, Result>>;
  /** Cancels a task. Throws `BadRequestError` (`task_terminal`) if it was in a terminal state already. */
  cancelTask(request_id: RequestId, options?: CallOptions): Promise<CancelReceipt>;
};

type Schemas = components['schemas'];
type Api = ReturnType<typeof createFetchClient<paths>>;
type Send = ReturnType<typeof createSend>;

/** Creates the calls, and the function that opens event streams with the same settings. */
export function createCalls(deps: CallsDeps): Calls & { readonly streams: StreamDeps } {
  const { baseUrl, headers } = deps;
  const api = createFetchClient<paths>({ baseUrl, headers, redirect: 'manual', bodySerializer: writeJson });
  const send = createSend(deps);
  return {
    ...createTaskCalls(api, send, deps),
    ...createLaterCalls(api, send, deps),
    streams: { ...deps, send, ask: api.request as unknown as Ask },
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
      const { cli_session_id } = submission;
      const { idempotencyKey = createId() } = options ?? {};
      const header = { 'Idempotency-Key': idempotencyKey };
      const body = (auth: string) => ({ ...submission, auth }) as unknown as Schemas['TaskSubmission'];
      try {
        return await send(options, 'body', checkTask<Payload, Result>, (init, auth) =>
          api.POST('/api/cli/tasks', { ...init, params: { header }, body: body(auth) }),
        );
      } catch (error) {
        throw nameTask(error, { idempotencyKey, cli_session_id });
      }
    },

    async getTask<Payload, Result>(
      request_id: RequestId,
      options?: CallOptions & { readonly wait?: number | undefined },
    ) {
      const { wait } = options ?? {};
      // openapi-fetch leaves out a field that is undefined.
      const params = { path: pathOf(request_id), query: { wait } as { wait: number } };
      let outcome: string | null = null;
      const task = await send(
        options,
        readsBy,
        checkTask<Payload, Result>,
        async (init) => {
          const result = await api.GET('/api/cli/tasks/{request_id}', { ...init, params });
          outcome = result.response.headers.get('Task-Outcome');
          return result;
        },
        wait,
      );
      return addOutcome(task, outcome);
    },

    async cancelTask(request_id, options) {
      try {
        return await send(options, 'authorization', checkCancelReceipt, (init) =>
          api.POST('/api/cli/tasks/{request_id}/cancel', { ...init, params: { path: pathOf(request_id) } }),
        );
      } catch (error) {
        if (!mayHaveTakenEffect(error, 'task_terminal')) throw error;
        const task = await calls.getTask(request_id, options);
        if (!isSettled(task) || outcomeOf(task) !== 'cancelled') throw error;
        return { ok: true, request_id };
      }
    },
  };
  return calls;
}

const LATER_CALLS = [
  ...(['registerAgent', 'heartbeatAgent', 'claimTask', 'reportResult', 'unregisterAgent'] as const),
  ...(['explainTask', 'previewMatch', 'listAgents', 'listTasks', 'getOverview', 'cancelTasks'] as const),
  ...(['getAgent', 'drainAgent', 'writeOutput', 'answerTask', 'claimAnswer'] as const),
] as const satisfies readonly (keyof LaterCalls)[];

/** Creates the calls that share a chunk of code, which the first of them loads. */
function createLaterCalls(api: Api, send: Send, deps: CallsDeps): LaterCalls {
  const load =
    (name: keyof LaterCalls) =>
    async (...asked: readonly unknown[]) => {
      // The options are the last argument.
      const { signal } = (asked.at(-1) ?? {}) as CallOptions;
      const part = await loadChunk(() => import('./later-calls.ts'), signal);
      return await Reflect.apply(
        part.createLaterCalls(api.request as unknown as Ask, send, deps)[name],
        undefined,
        asked,
      );
    };
  return Object.fromEntries(LATER_CALLS.map((name) => [name, load(name)])) as unknown as LaterCalls;
}
