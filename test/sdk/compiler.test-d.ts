/**
 * Which programs compile against the SDK. Nothing here runs: the type check is the test. Each
 * `@ts-expect-error` stands above code that must not compile, and fails the check if it does.
 */
import {
  type AgentOptions,
  createAgent,
  type Handler,
  type WorkStoppedError,
} from '../../sdk/agent/index.ts';
import {
  ApiError,
  createClient,
  type SuccessfulTask,
  type Task,
  type TaskDone,
  TaskFailedError,
  type TaskGatewayClient,
  type TaskStatus,
  ValidationError,
} from '../../sdk/index.ts';

/** True only for identical types, not for types that are merely assignable. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const isTrue = <T extends true>(): T | undefined => undefined;

declare const client: TaskGatewayClient;
declare const task: Task;
const submission = { task_type: 'x', task_tags: ['a'], payload: {} };

export async function answersAreTyped(): Promise<void> {
  isTrue<Same<typeof task.status, TaskStatus>>();
  isTrue<Same<TaskStatus, 'pending' | 'running' | 'success' | 'failed'>>();
  isTrue<Same<Awaited<ReturnType<typeof client.submitTask>>, Task>>();
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
  console.log(output, own);
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
  // @ts-expect-error There is no such option.
  await client.getTask('t', { waitSeconds: 3 });
  // @ts-expect-error A session is needed.
  client.subscribeEvents();
  // @ts-expect-error A secret is a string, or a function that returns one.
  createClient({ auth: 7 });
  // @ts-expect-error There is no such level.
  createClient({ logLevel: 'loud' });
}

export async function idsAreTyped(): Promise<void> {
  await client.getTask('any text will do');
  await client.cancelTask(task.request_id);
  // @ts-expect-error An agent is not a task.
  if (task.status === 'running') await client.getTask(task.agent_id);
  // @ts-expect-error A session is not a task.
  await client.cancelTask(task.cli_session_id);
  // @ts-expect-error A task is not a session.
  client.subscribeEvents(task.request_id);
  // @ts-expect-error A task is not an agent.
  await client.unregisterAgent({ agent_id: task.request_id });
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

// @ts-expect-error A number is not a result.
export const wrongHandler: Handler = () => 7;

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
