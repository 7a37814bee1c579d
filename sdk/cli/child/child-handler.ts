/**
 * The handler of `agent exec`: it runs the program for a task, and makes the task's outcome of the program's
 * exit.
 */
import type { Handler } from '../../agent/index.ts';
import type { TaskGatewayClient } from '../../client.ts';
import type { Task } from '../../contract.ts';
import { parseJson } from '../decoding.ts';
import { messageOf } from '../exit-codes.ts';
import type { Environment, Terminal } from '../terminal/terminal.ts';
import { withTraceEnvironment } from '../trace-environment.ts';
import { waitUntilSettled } from '../wait.ts';
import { type ChildExit, runChild } from './child.ts';
import { checkFreeFiles } from './executables.ts';
import { startGroupWatch } from './group-watch.ts';
import { END_BYTES, LEFT_OUT } from './kept-output.ts';

/** `text`: standard output is the result's `output`. `json`: standard output is the whole result. */
export type ResultKind = 'text' | 'json';

export type ChildHandlerOptions = {
  readonly terminal: Terminal;
  readonly env: Environment;
  readonly client: TaskGatewayClient;
  /** The program and its arguments. */
  readonly command: readonly string[];
  readonly resultKind: ResultKind;
  /** Whether standard output is also written to the task's output. */
  readonly streams: boolean;
  readonly killAfterMs: number;
  /** Finds percentages in what the program writes. */
  readonly progress: RegExp | undefined;
  readonly outputBytesMax: number;
  /** The names of variables that hold secrets, besides those of this command. */
  readonly secretNames: readonly string[];
};

export type ChildHandler = {
  readonly handler: Handler;
  /** Whether the system lacks files for another program, also for one whose task is taken already. */
  isBusy(): boolean;
  /** Resolves once no program runs any more. */
  waitForRuns(): Promise<void>;
};

/** The most that an output may have as JSON: a report has at most 1 MiB, with all else that is in it. */
export const OUTPUT_BYTES_MAX = 1_000_000;
/** Variables that the program must not inherit. */
const SECRET_NAMES: ReadonlySet<string> = new Set([
  ...['TASK_GATEWAY_AUTH', 'TASK_GATEWAY_ADMIN_AUTH', 'TASK_GATEWAY_PUSH_SECRET', 'TASK_GATEWAY_HEADERS'],
]);
/** How many files one program and the calls for its task may open at once. */
const FILES_PER_TASK = 12;
/** How much of an id is shown. Its end differs between tasks; its start is a time. */
const ID_CHARS_SHOWN = 6;

export function createChildHandler(options: ChildHandlerOptions): ChildHandler {
  const { terminal, client, command } = options;
  const running = new Set<Promise<unknown>>();
  /** The tasks whose programs can't be started at present. */
  const starved = new Set<string>();
  const secretNames = new Set([...SECRET_NAMES, ...options.secretNames]);
  const inherited = Object.fromEntries(
    Object.entries(options.env).filter(([name]) => !secretNames.has(name)),
  );
  const watch = startGroupWatch(options.killAfterMs, (reason) =>
    terminal.log(
      `Programs will not end with this agent if it is killed: no watch could be started (${reason}).`,
    ),
  );

  function noteShortage(request_id: string, code: string | undefined): void {
    if (code === undefined) {
      starved.delete(request_id);
      return;
    }
    if (!starved.has(request_id)) {
      logTaskLine(terminal, request_id, `waiting: the system has no capacity for the program (${code})`);
    }
    starved.add(request_id);
  }

  const killWords =
    options.killAfterMs > 0 ? `, and SIGKILL in ${options.killAfterMs / 1_000} s` : ' and SIGKILL';

  return {
    isBusy: () => starved.size > 0 || !checkFreeFiles(FILES_PER_TASK),
    async handler(task, { signal, progress, write, ...trace }) {
      const { request_id } = task;
      const outcome = watchOutcome(client, task, signal, (why) =>
        logTaskLine(terminal, request_id, `${why}: the program gets SIGTERM${killWords}`),
      );
      const run = runChild(command, {
        input: JSON.stringify(task.payload),
        env: { ...withTraceEnvironment(inherited, trace), ...describeTask(task) },
        signal: outcome.signal,
        killAfterMs: options.killAfterMs,
        outputBytesMax: options.outputBytesMax,
        onProgress: progress,
        progress: options.progress,
        onOutputText: options.streams ? write : undefined,
        onErrorLine: (line) => logTaskLine(terminal, request_id, line),
        onShortage: (code) => noteShortage(request_id, code),
        watch,
        watchedEntry: `TASK_REQUEST_ID=${request_id}`,
      });
      running.add(run);
      try {
        const exit = await run;
        if (exit.exitCode !== 0) signal.throwIfAborted();
        return readResult(exit, command[0] ?? '', options.resultKind);
      } finally {
        running.delete(run);
        starved.delete(request_id);
        outcome.stop();
      }
    },
    async waitForRuns() {
      await Promise.allSettled(running);
    },
  };
}

/**
 * Creates a signal that fires with the agent's, and when the task ends; a heartbeat would tell that too, but
 * later. Calls `say` once with what happened to the task.
 */
function watchOutcome(
  client: TaskGatewayClient,
  task: Task,
  signal: AbortSignal,
  say: (why: string) => void,
): { readonly signal: AbortSignal; stop(): void } {
  const { request_id } = task;
  const ended = new AbortController();
  const stopped = new AbortController();
  const any = AbortSignal.any([signal, ended.signal]);
  const explain = (now: Task): void => {
    if (!stopped.signal.aborted) say(describeStop(now, task.agent_id));
    stopped.abort();
  };
  waitUntilSettled(client, request_id, { signal: AbortSignal.any([signal, stopped.signal]) }).then(
    (last) => {
      explain(last);
      ended.abort();
    },
    // If the task can't be polled, a heartbeat still ends the run.
    () => undefined,
  );
  signal.addEventListener(
    'abort',
    () =>
      void client
        .getTask(request_id, { signal: stopped.signal, maxRetries: 0 })
        .then(explain, () => undefined),
  );
  return { signal: any, stop: () => stopped.abort() };
}

/** Returns why the work on a task stops, by the task as it is now. */
function describeStop({ status, error_info, agent_id }: Task, own: string | null): string {
  if (status === 'success') return 'done by another agent';
  if (status === 'failed') return error_info ?? 'failed';
  return agent_id === own ? 'stopped' : `moved to ${agent_id ?? 'the queue'}`;
}

function describeTask(task: Task): Record<string, string> {
  return {
    TASK_REQUEST_ID: task.request_id,
    TASK_TYPE: task.task_type,
    TASK_TAGS: JSON.stringify(task.task_tags),
    TASK_AGENT_ID: task.agent_id ?? '',
    TASK_SESSION: task.cli_session_id,
    TASK_CREATE_TIME: String(task.create_time),
    TASK_TIMEOUT: String(task.timeout),
  };
}

/** Returns the result of a successful run. Throws an error with the reason of a failed one. */
export function readResult(
  { exitCode, signal, output, truncated, lastLines }: ChildExit,
  program: string,
  kind: ResultKind,
): Record<string, unknown> {
  if (exitCode !== 0) {
    const reason = exitCode === null ? `was ended by ${signal}` : `ended with exit code ${exitCode}`;
    throw new Error(lastLines || `${program} ${reason}`);
  }
  // Drops the final line break, as a shell does in $(…).
  const text = output.replace(/\r?\n$/, '');
  if (kind === 'text') {
    const fitting = cutToFit(text);
    return truncated || fitting !== text ? { output: fitting, truncated: true } : { output: text };
  }
  if (truncated) throw new Error(`${program} wrote more than --output-max, so its JSON is incomplete`);
  const value = parseResult(text.replace(/^\ufeff/, ''), program);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Error(`${program} wrote JSON that is not an object`);
  }
  return { ...value };
}

/** Returns the text. If its JSON is too large, cuts its middle out and keeps the last 64 KiB. */
function cutToFit(text: string): string {
  const fits = (one: string): boolean => Buffer.byteLength(JSON.stringify(one)) <= OUTPUT_BYTES_MAX;
  if (fits(text)) return text;
  const end = LEFT_OUT + text.slice(-END_BYTES).replace(/^[\udc00-\udfff]/, '');
  const cut = (length: number): string => text.slice(0, length).replace(/[\ud800-\udbff]$/, '') + end;
  let [length, tooLong] = [0, text.length];
  while (tooLong - length > 1) {
    const middle = Math.floor((length + tooLong) / 2);
    if (fits(cut(middle))) length = middle;
    else tooLong = middle;
  }
  return cut(length);
}

function parseResult(text: string, program: string): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    throw new Error(`${program} did not write usable JSON: ${messageOf(error)}`);
  }
}

/** Logs a line about a task, after the end of its id. */
export function logTaskLine(terminal: Terminal, request_id: string, text: string): void {
  const label = request_id.slice(-ID_CHARS_SHOWN);
  terminal.log(`${terminal.err.paint('dim', `[${label}]`)} ${text}`);
}
