/**
 * The operations of the contract, one function each under the operation's own name. Each adds the secret
 * where the contract expects it: in the body if the request has one, otherwise in a header; never in a URL.
 */
import type { paths } from '@task-gateway/contract';
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
import { createRequestBuilder, encodeId, type RequestParts } from './requests.ts';
import {
  checkAgentListings,
  checkCancelReceipt,
  checkClaim,
  checkDepartureReceipt,
  checkHeartbeatReceipt,
  checkRegistrationReceipt,
  checkReportReceipt,
  checkTask,
  checkTaskPage,
  type Guard,
} from './responses.ts';
import { withSecret } from './secrets.ts';
import { CANCELLED_TEXT } from './settled.ts';
import { createOpenSession, type OpenSession } from './stream/open.ts';
import { type CallOptions, type CallSettings, exchange, type Network } from './transport.ts';

/** The filters of a list of tasks. `cursor` is the `next_cursor` of the previous page. */
export type TaskQuery = NonNullable<paths['/api/admin/tasks']['get']['parameters']['query']>;

/** The HTTP calls. All of them may throw `ApiError`, `ConnectionError`, `TimeoutError` or `AbortError`. */
export type Calls = {
  /**
   * Submits a task and returns it as it was accepted, `pending`. It carries an idempotency key, a random one
   * unless given, so that a retry finds the task which an earlier attempt created.
   */
  submitTask(
    submission: TaskSubmission,
    options?: CallOptions & { readonly idempotencyKey?: string | undefined },
  ): Promise<Task>;
  /**
   * Returns a task; with `wait` (seconds, at most 60) once it is in a terminal state or that time has passed.
   */
  getTask(
    request_id: RequestId,
    options?: CallOptions & { readonly wait?: number | undefined },
  ): Promise<Task>;
  /** Cancels a task. Throws `BadRequestError` (`task_terminal`) if it is in a terminal state already. */
  cancelTask(request_id: RequestId, options?: CallOptions): Promise<CancelReceipt>;
  /** Registers an agent, or replaces its registration. */
  registerAgent(registration: AgentRegistration, options?: CallOptions): Promise<RegistrationReceipt>;
  /**
   * Sends an agent's heartbeat. Throws `NotFoundError` (`agent_not_found`) if the agent is not registered.
   */
  heartbeatAgent(heartbeat: AgentHeartbeat, options?: CallOptions): Promise<HeartbeatReceipt>;
  /**
   * Claims a task for an agent registered as `pull`; null if none came within `wait` (seconds, at most 60).
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

export type CallsDeps = Network &
  CallSettings & {
    readonly baseUrl: string;
    /** Resolves to the current secret; so does `adminAuth`. */
    readonly auth: () => Promise<string>;
    readonly adminAuth: (() => Promise<string>) | undefined;
    readonly headers: Readonly<Record<string, string>>;
  };

type Options = CallOptions | undefined;
type Send = ReturnType<typeof createSend>;

/** Where a call carries its secret: as a field of its body, or in a header. */
type SecretIn = 'body' | 'authorization' | 'x-admin-auth';

/** One call, before the secret is added. */
type Call<Data> = Omit<RequestParts, 'headers'> & {
  readonly secretIn: SecretIn;
  readonly header?: Readonly<Record<string, string>>;
  /** Whether the response is one that the contract has for this call. */
  readonly check: Guard<Data>;
  /** How long the gateway may hold the call, in seconds; added to its timeout. */
  readonly holdSeconds?: number | undefined;
};

/** Creates the calls, and the function that opens event streams with the same settings. */
export function createCalls(deps: CallsDeps): Calls & { openSession: OpenSession } {
  const send = createSend(deps);
  return {
    ...createTaskCalls(send),
    ...createAgentCalls(send),
    ...createAdminCalls(send),
    openSession: createOpenSession(deps),
  };
}

/** Creates the function that makes one call with its options, and the client's where these are absent. */
function createSend(deps: CallsDeps) {
  const { baseUrl, adminAuth = throwMissingAdminAuth } = deps;
  return <Data>(options: Options, call: Call<Data>): Promise<Data> => {
    const { secretIn, header, check, holdSeconds = 0, body, ...parts } = call;
    const timeoutMs = (options?.timeoutMs ?? deps.timeoutMs) + holdSeconds * 1_000;
    const maxRetries = options?.maxRetries ?? deps.maxRetries;
    const { signal, onResponse } = options ?? {};
    return withSecret(secretIn === 'x-admin-auth' ? adminAuth : deps.auth, (secret) => {
      const own =
        secretIn === 'body' ? {} : { [secretIn]: secretIn === 'authorization' ? `Bearer ${secret}` : secret };
      const createRequest = createRequestBuilder(baseUrl, {
        ...parts,
        headers: [deps.headers, options?.headers, header, own],
        body: secretIn === 'body' ? { ...(body as object), auth: secret } : body,
      });
      return exchange(deps, { signal, timeoutMs, maxRetries, onResponse }, createRequest, check);
    });
  };
}

function createTaskCalls(send: Send): Pick<Calls, 'submitTask' | 'getTask' | 'cancelTask'> {
  const pathOf = (request_id: RequestId): string => `/api/cli/tasks/${encodeId(request_id)}`;
  const calls: Pick<Calls, 'submitTask' | 'getTask' | 'cancelTask'> = {
    submitTask: async (submission, options) =>
      await send(options, {
        path: '/api/cli/tasks',
        body: submission,
        header: { 'idempotency-key': options?.idempotencyKey ?? createId() },
        secretIn: 'body',
        check: checkTask,
      }),

    async getTask(request_id, options) {
      const wait = options?.wait;
      const path = pathOf(request_id);
      const query = { wait };
      return await send(options, {
        ...{ path, query, holdSeconds: wait, secretIn: 'authorization', check: checkTask },
      });
    },

    async cancelTask(request_id, options) {
      const path = `${pathOf(request_id)}/cancel`;
      try {
        return await send(options, {
          ...{ path, method: 'POST', secretIn: 'authorization', check: checkCancelReceipt },
        });
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
  send: Send,
): Pick<Calls, 'registerAgent' | 'heartbeatAgent' | 'claimTask' | 'reportResult' | 'unregisterAgent'> {
  const post = <Data>(operation: string, body: object, options: Options, check: Guard<Data>, wait = 0) =>
    send(options, { path: `/api/agent/${operation}`, body, secretIn: 'body', check, holdSeconds: wait });
  return {
    registerAgent: async (registration, options) =>
      await post('register', registration, options, checkRegistrationReceipt),

    heartbeatAgent: async (heartbeat, options) =>
      await post('heartbeat', heartbeat, options, checkHeartbeatReceipt),

    claimTask: async (claim, options) =>
      (await post('claim', claim, options, checkClaim, claim.wait)) ?? null,

    reportResult: async (report, options) => await post('result', report, options, checkReportReceipt),

    async unregisterAgent(departure, options) {
      try {
        return await post('unregister', departure, options, checkDepartureReceipt);
      } catch (error) {
        if (!mayHaveTakenEffect(error, 'agent_not_found')) throw error;
        return { ok: true, agent_id: departure.agent_id };
      }
    },
  };
}

function createAdminCalls(send: Send): Pick<Calls, 'listAgents' | 'listTasks'> {
  return {
    listAgents: async (options) =>
      await send(options, {
        ...{ path: '/api/admin/agents', secretIn: 'x-admin-auth', check: checkAgentListings },
      }),

    listTasks: async (query = {}, options) =>
      await send(options, {
        ...{ path: '/api/admin/tasks', query, secretIn: 'x-admin-auth', check: checkTaskPage },
      }),
  };
}

async function throwMissingAdminAuth(): Promise<never> {
  throw new InvalidOptionError(
    'Listings need the administrator’s secret: give createClient adminAuth, or set TASK_GATEWAY_ADMIN_AUTH.',
  );
}
