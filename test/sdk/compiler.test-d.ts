/**
 * Which programs compile against the SDK. Nothing here runs: the type check is the test. Each
 * `@ts-expect-error` stands above code that must not compile, and fails the check if it does.
 */
import {
  type AgentOptions,
  createAgent,
  type Handler,
  runAgent,
  type WorkStoppedError,
} from '../../sdk/agent/index.ts';
import type { AGENT_OPTION_NAMES } from '../../sdk/agent/options.ts';
import {
  ApiError,
  BadRequestError,
  type ClientOptions,
  ConnectionError,
  createClient,
  type ErrorCode,
  InvalidOptionError,
  type RunOptions,
  type SubscribeOptions,
  type SuccessfulTask,
  type Task,
  type TaskDone,
  TaskFailedError,
  type TaskGatewayClient,
  type TaskGatewayError,
  type TaskStatus,
  type TaskSubmission,
  ValidationError,
} from '../../sdk/index.ts';
import type {
  CALL_OPTION_NAMES,
  CLIENT_OPTION_NAMES,
  SUBMISSION_FIELD_NAMES,
} from '../../sdk/option-names.ts';
import { runHandler } from '../../sdk/testing/index.ts';

/** True only for identical types, not for types that are merely assignable. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const isTrue = <T extends true>(): T | undefined => undefined;

declare const client: TaskGatewayClient;
declare const task: Task;
const submission = { task_type: 'x', task_tags: ['a'], payload: {} };

export async function answersAreTyped(): Promise<void> {
  isTrue<Same<typeof task.status, TaskStatus>>();
  isTrue<Same<TaskStatus, 'pending' | 'running' | 'success' | 'failed'>>();
  const submitted: Task = await client.submitTask(submission);
  isTrue<Same<Awaited<ReturnType<typeof client.claimTask>>, Task | null>>();

  const done: SuccessfulTask = await client.runTask(submission);
  const output: string | undefined = done.result.output;
  isTrue<Same<typeof done.status & string, 'success'>>();
  const own: unknown = done.result.pages;

  for await (const event of client.subscribeEvents('s')) {
    isTrue<Same<typeof event, TaskDone>>();
    isTrue<Same<typeof event.status, 'success' | 'failed'>>();
    // @ts-expect-error An event is not a task.
    event.progress;
  }
  // @ts-expect-error The result of a task may be missing.
  task.result.output;
  // @ts-expect-error Fields keep the names they have on the wire.
  task.requestId;
  console.log(submitted, output, own);
}

export async function wrongCallsDoNotCompile(): Promise<void> {
  // @ts-expect-error The secret is an option of the client, not of the call.
  await client.submitTask({ ...submission, auth: 'x' } satisfies Parameters<typeof client.submitTask>[0]);
  // @ts-expect-error A type is needed.
  await client.submitTask({ task_tags: [], payload: {} });
  // @ts-expect-error Tags are a list.
  await client.submitTask({ ...submission, task_tags: 'a' });
  // @ts-expect-error A timeout is a number of seconds.
  await client.submitTask({ ...submission, timeout: '60' });
  // @ts-expect-error There is no such status to report.
  await client.reportResult({ request_id: 't', agent_id: 'a', status: 'done' });
  // @ts-expect-error There is no such filter.
  await client.listTasks({ colour: 'red' });
  // @ts-expect-error There is no such outcome.
  await client.listTasks({ outcome: ['lost'] });
  // @ts-expect-error What is cancelled was submitted before a time.
  await client.cancelTasks({ request_ids: [] });
  // @ts-expect-error A read that may be unchanged may be null.
  (await client.listTasks({}, { ifNoneMatch: '"1"' })).tasks;
  (await client.listTasks({}, { timeoutMs: 1 })).tasks.map(({ request_id }) => request_id);
  // @ts-expect-error There is no such option.
  await client.getTask('t', { waitSeconds: 3 });
  // @ts-expect-error A session is needed.
  client.subscribeEvents();
  // @ts-expect-error A secret is a string, or a function that returns one.
  createClient({ auth: 7 });
  // @ts-expect-error There is no such level.
  createClient({ logLevel: 'loud' });
}

export function positionsAreTyped(): void {
  // @ts-expect-error A task is not a position in a stream.
  client.subscribeEvents('s', { lastEventId: task.request_id });
}

/** The status of a task determines its other fields. */
export function statesAreTyped(): string | null | undefined {
  switch (task.status) {
    case 'pending':
      isTrue<Same<typeof task.agent_id & string, never>>();
      return task.error_info;
    case 'running':
      // @ts-expect-error A task that runs has no result yet.
      task.result.output;
      return task.agent_id satisfies string;
    case 'success':
      return task.result.output;
    case 'failed':
      // @ts-expect-error A task that failed has no result.
      task.result.output;
      return task.error_info satisfies string;
  }
}

export function errorsAreTyped(error: unknown): string {
  if (error instanceof ValidationError)
    return error.errors.map(({ pointer, detail }) => pointer + detail).join();
  // @ts-expect-error Only a validation error lists fields.
  if (error instanceof ApiError) return error.errors;
  if (error instanceof TaskFailedError) return error.task.error_info ?? error.code;
  // @ts-expect-error Other errors have unknown fields.
  return error.code;
}

export const handler: Handler = async ({ payload }, { signal, progress, reply }) => {
  progress(50);
  reply('ok');
  signal.throwIfAborted();
  // @ts-expect-error Progress is a number.
  progress('50');
  // @ts-expect-error The content of a payload is unknown.
  payload.text.length;
  return { output: 'ok', extra: { pages: 3 } };
};

/** What a handler may return is what can be a result, also of one that is asynchronous. */
type May<Answer> = [() => Answer, () => Promise<Answer>] extends [Handler, Handler]
  ? true
  : (() => Answer) extends Handler
    ? 'only by itself'
    : (() => Promise<Answer>) extends Handler
      ? 'only as a promise'
      : false;
isTrue<May<string>>();
isTrue<May<void>>();
isTrue<May<null>>();
isTrue<May<{ output: string; n: number }>>();
isTrue<May<{ n: number[] }>>();
isTrue<Same<May<number>, false>>();
isTrue<Same<May<boolean>, false>>();
isTrue<Same<May<number[]>, false>>();
isTrue<Same<May<bigint>, false>>();
isTrue<Same<May<() => number>, false>>();
isTrue<Same<May<Map<string, string>>, false>>();

const agent = { baseUrl: 'http://127.0.0.1:8080', auth: 'x', agentId: 'a', tags: ['x'] };
createAgent({ ...agent, handler } satisfies AgentOptions);
createAgent({ tags: ['x'], maxConcurrent: 2, handler });
createAgent({ ...agent, handler, endpoint: 'pull' });
createAgent({ ...agent, handler, endpoint: 'https://agent.test/tasks' });
// @ts-expect-error An agent without a handler does nothing.
createAgent(agent);
// @ts-expect-error An agent without tags gets nothing.
createAgent({ handler });
// @ts-expect-error An agent has no administrator's secret.
createAgent({ ...agent, handler, adminAuth: 'x' });

export const stopReason = (error: WorkStoppedError): string => {
  isTrue<Same<typeof error.code, 'task_cancelled' | 'task_timeout' | 'agent_stopped'>>();
  return error.code;
};
// @ts-expect-error A handler gets a running task, which has no result yet.
export const early: Handler = ({ result }) => result.output;

interface Report {
  readonly week: number;
  readonly notes?: readonly string[];
}
interface Summary {
  readonly output: string;
  readonly pages: number;
}
const tags = ['weekly'] as const;
declare const report: Report;

/** Payloads and results may be typed by interfaces, and tags may be readonly. */
export async function payloadsAreTyped(): Promise<void> {
  const typed = { task_type: 'report', task_tags: tags, payload: report };
  const submitted = await client.submitTask<Report, Summary>(typed);
  isTrue<Same<typeof submitted.payload, Report>>();
  if (submitted.status === 'success') isTrue<Same<typeof submitted.result, Summary>>();
  const done = await client.runTask<Report, Summary>(typed);
  isTrue<Same<typeof done.result, Summary>>();
  isTrue<Same<typeof done.payload.week, number>>();
  const inferred = await client.runTask(typed);
  isTrue<Same<typeof inferred.payload, Report>>();
  isTrue<Same<typeof inferred.result.output, string | undefined>>();
  isTrue<Same<typeof inferred.result.pages, unknown>>();
  const got = await client.getTask<Report, Summary>('t');
  isTrue<Same<typeof got.payload, Report>>();
  const plain: Task = await client.getTask('t');
  isTrue<Same<typeof plain.payload.week, unknown>>();
  // @ts-expect-error A payload is an object.
  await client.submitTask({ ...typed, payload: 'text' });
  // @ts-expect-error A payload is no list.
  await client.submitTask({ ...typed, payload: [1] });
  // @ts-expect-error A payload is no Map: JSON has no form for it.
  await client.submitTask({ ...typed, payload: new Map() });
  // @ts-expect-error The payload is not that of this type.
  await client.runTask<Report>({ ...typed, payload: { month: 3 } });
  // @ts-expect-error An output is a text.
  await client.getTask<Report, { output: number }>('t');
  await client.registerAgent({ agent_id: 'a', endpoint: 'pull', agent_tags: tags });
  await client.heartbeatAgent({ agent_id: 'a', request_ids: tags });
  await client.reportResult({ request_id: 't', agent_id: 'a', status: 'success', result: {} as Summary });
}

/** Handlers are typed by themselves, by the agent's type arguments, or not at all. */
export async function handlersAreTyped(): Promise<void> {
  const summarize: Handler<Report, Summary> = ({ payload }) => ({
    output: `week ${payload.week}`,
    pages: payload.notes?.length ?? 0,
  });
  createAgent({ tags, handler: summarize });
  createAgent<Report, Summary>({ tags, handler: ({ payload }) => ({ output: '', pages: payload.week }) });
  createAgent({ tags, handler: ({ payload }) => `Hello, ${payload.name}` });
  createAgent({ tags, handler: async ({ payload }) => ({ pages: payload.pages, output: 'done' }) });
  createAgent({ tags, handler: async () => undefined });
  await runAgent<Report, Summary>({ tags, handler: summarize });
  const { result } = await runHandler(summarize, { payload: { week: 47 } });
  isTrue<Same<typeof result, Summary | null>>();
  // @ts-expect-error The result lacks its pages.
  createAgent<Report, Summary>({ tags, handler: () => ({ output: '' }) });
  // @ts-expect-error An output is a text.
  createAgent({ tags, handler: () => ({ output: 7 }) });
  // @ts-expect-error A list is no result.
  createAgent({ tags, handler: () => [1] });
}

/** A code is one of those there are, which an editor lists, or any text. */
export function codesAreTyped(error: unknown): string | undefined {
  isTrue<Same<TaskGatewayError['code'], ErrorCode>>();
  const later: ErrorCode = 'a_code_of_a_later_version';
  if (error instanceof InvalidOptionError) return error.code satisfies 'invalid_option';
  if (error instanceof BadRequestError) {
    const known: Extract<typeof error.code, 'task_terminal'> = 'task_terminal';
    // @ts-expect-error This code belongs to another status.
    const wrong: Extract<typeof error.code, 'task_not_found'> = 'task_not_found';
    return error.code === known ? wrong : undefined;
  }
  if (error instanceof ConnectionError) return error.code === 'not_a_gateway' ? later : error.request_id;
  return undefined;
}

/** What is misspelt does not compile. */
export async function misspeltOptionsDoNotCompile(): Promise<void> {
  // @ts-expect-error It is queue_timeout.
  await client.runTask({ ...submission, queue_timout: 30 });
  // @ts-expect-error It is queue_timeout.
  await client.submitTask({ ...submission, queue_timout: 30 });
  // @ts-expect-error It is timeout.
  await client.runTask<{ text: string }>({ ...submission, payload: { text: '' }, timout: 30 });
  // @ts-expect-error It is timeoutMs.
  await client.runTask(submission, { timout: 30 });
  // @ts-expect-error It is timeoutMs.
  createClient({ timout: 30 });
  // @ts-expect-error It is tags.
  createAgent({ tags, tag: 'x', handler });
}

/** The names that plain JavaScript is warned with are all there are. */
type Missing<All, Names extends readonly string[]> = Exclude<keyof All, Names[number]>;
type CallOption = RunOptions & SubscribeOptions & { wait?: number };
isTrue<Same<Missing<ClientOptions, typeof CLIENT_OPTION_NAMES>, never>>();
isTrue<Same<Missing<CallOption, typeof CALL_OPTION_NAMES>, never>>();
isTrue<Same<Missing<TaskSubmission, typeof SUBMISSION_FIELD_NAMES>, never>>();
isTrue<Same<Missing<AgentOptions, [...typeof CLIENT_OPTION_NAMES, ...typeof AGENT_OPTION_NAMES]>, never>>();
