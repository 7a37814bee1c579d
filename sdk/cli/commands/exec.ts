/** `agent exec`: makes any program an agent. One run of the program per task. */
import { hostname } from 'node:os';
import { type Command, Option } from 'commander';
import {
  type Agent,
  type AgentNotice,
  createAgent,
  type Handler,
  type ListenOptions,
} from '../../agent/index.ts';
import type { TaskGatewayClient } from '../../client.ts';
import type { Task } from '../../contract.ts';
import { createUsageError } from '../exit-codes.ts';
import { parseJson } from '../json.ts';
import type { Screen } from '../terminal/terminal.ts';
import { cleanText } from '../terminal/width.ts';
import { type ChildEnd, canRun, runChild } from './child.ts';
import { connectFor, type Desk, gather, parseCount, parseSecondsOrNone } from './context.ts';
import { waitForEnd } from './wait.ts';

type ExecOptions = {
  readonly tag?: readonly string[];
  readonly id?: string;
  readonly max: number;
  readonly listen?: string;
  readonly endpoint?: string;
  readonly result: 'text' | 'json';
  readonly outputMax: number;
  readonly killAfter: number;
  readonly drain: number;
  readonly outbox?: string;
};

const OUTPUT_BYTES_MAX = 1_048_576;
const KILL_AFTER_SECONDS = 5;
const DRAIN_SECONDS = 30;
/** Beyond SIGKILL, for what a program leaves behind and the telling of its end. */
const GRACE_MS = 3_000;
/** What the program has no business to know. */
const SECRET_NAMES: ReadonlySet<string> = new Set([
  ...['TASK_GATEWAY_AUTH', 'TASK_GATEWAY_ADMIN_AUTH', 'TASK_GATEWAY_PUSH_SECRET', 'TASK_GATEWAY_HEADERS'],
]);

const EXAMPLES = `
For each task the program is started anew. It gets the payload as JSON on standard input, and in its environment
TASK_REQUEST_ID, TASK_TYPE, TASK_TAGS (a JSON array), TASK_AGENT_ID, TASK_SESSION, TASK_CREATE_TIME and TASK_TIMEOUT,
but none of the secrets. Exit code 0 is success, and what it wrote to standard output is the result's output. Any other
is failure, and the last lines on standard error are the reason. A line "::progress 40::" on either tells how far it
is. When the task is cancelled or times out, the program and all it started get SIGTERM, then SIGKILL.

Tasks are fetched (--pull), so no port is needed. With --listen the gateway pushes them; set TASK_GATEWAY_PUSH_SECRET
to refuse pushes it has not signed. Ctrl-C takes no more tasks and finishes those in hand; again, it ends them.

Examples:
  $ task-gateway agent exec --tag hello -- jq -r '"Hello, " + .name'
  $ task-gateway agent exec --tag weekly --max 4 -- python3 report.py
  $ task-gateway agent exec --tag gpu --listen 0.0.0.0:9000 --endpoint http://10.0.0.7:9000/ -- ./render`;

/** Adds `exec` under `agent`. */
export function addAgentExec(parent: Command, desk: Desk): void {
  parent
    .command('exec')
    .summary('make any program an agent')
    .description('Runs a program for each task of an agent.')
    .usage('--tag <tag>... [options] -- <command> [argument...]')
    .argument('<command...>', 'the program and its arguments, behind --')
    .addOption(new Option('-t, --tag <tag>', 'take tasks with this tag (repeatable)').argParser(gather))
    .option('--id <agent_id>', 'the agent’s name; without, TASK_GATEWAY_AGENT_ID, or the host and process')
    .option('--max <number>', 'how many tasks at once', parseCount, 1)
    .addOption(new Option('--pull', 'fetch the tasks (the default)').conflicts('listen'))
    .option('--listen <host:port>', 'let the gateway push the tasks to this address')
    .option('--endpoint <url>', 'how the gateway reaches --listen, where that is another address')
    .addOption(
      new Option('--result <kind>', 'text: stdout is the output; json: stdout is the result')
        .choices(['text', 'json'])
        .default('text'),
    )
    .option('--output-max <bytes>', 'how much of standard output is kept', parseCount, OUTPUT_BYTES_MAX)
    .option('--kill-after <seconds>', 'from SIGTERM to SIGKILL', parseSecondsOrNone, KILL_AFTER_SECONDS)
    .option('--outbox <file>', 'keep outcomes the gateway could not be told for the next start')
    .option('--drain <seconds>', 'after Ctrl-C, finish tasks for so long', parseSecondsOrNone, DRAIN_SECONDS)
    .addHelpText('after', EXAMPLES)
    .action((words: string[], options: ExecOptions, command: Command) =>
      serve(desk, words, options, command),
    );
}

async function serve(
  desk: Desk,
  words: readonly string[],
  options: ExecOptions,
  command: Command,
): Promise<void> {
  const { env, screen } = desk;
  const {
    tag: tags,
    id = env.TASK_GATEWAY_AGENT_ID || `${hostname()}-${process.pid}`,
    max,
    listen,
    endpoint,
  } = options;
  if (!tags) throw createUsageError('Say with --tag which tasks the agent takes.');
  if (endpoint !== undefined && listen === undefined) {
    throw createUsageError('--endpoint says how --listen is reached: give both.');
  }
  if (!canRun(words[0] ?? '', env)) {
    throw createUsageError(`"${words[0]}" is no program that can be run: check its name and PATH.`);
  }
  const { url, reach, client } = connectFor(desk, command);
  const pushSecret = env.TASK_GATEWAY_PUSH_SECRET;
  if (pushSecret) screen.hide([pushSecret]);
  const work = createHandler(desk, client, words, options);
  const agent = createAgent({
    ...{ ...reach, agentId: id, tags, endpoint, outbox: options.outbox },
    maxConcurrent: max,
    handler: work.handler,
    listen: listen === undefined ? undefined : parseListen(listen),
    pushSecret: pushSecret || undefined,
    onNotice: (notice) => tellNotice(screen, notice),
  });
  screen.say(`Registering at ${url}.`);
  await runUntilInterrupted(desk, agent, options);
  await work.untilQuiet();
}

/** Works until Ctrl-C, then finishes what is in hand; the next Ctrl-C ends it. */
async function runUntilInterrupted(
  { interrupts, screen }: Desk,
  agent: Agent,
  options: ExecOptions,
): Promise<void> {
  const graceMs = options.killAfter * 1_000 + GRACE_MS;
  interrupts.allowSecond();
  const stopped = new Promise<void>((resolve) => {
    interrupts.first.addEventListener('abort', () => {
      screen.say(`Stopping: tasks in hand get ${options.drain} s. Ctrl-C ends them now.`);
      agent.stop({ drainMs: options.drain * 1_000, graceMs }).then(resolve);
    });
    interrupts.second.addEventListener('abort', () => {
      screen.say('Ending the tasks in hand.');
      void agent.stop({ drainMs: 0, graceMs });
    });
  });
  await agent.start();
  await stopped;
  screen.say('Stopped.');
}

/** The handler that runs the program, and a way to await that no run is left. */
function createHandler(
  { env, screen }: Desk,
  client: TaskGatewayClient,
  words: readonly string[],
  options: ExecOptions,
): { handler: Handler; untilQuiet(): Promise<void> } {
  const running = new Set<Promise<unknown>>();
  const inherited = Object.fromEntries(Object.entries(env).filter(([name]) => !SECRET_NAMES.has(name)));
  return {
    async handler(task, { signal, progress }) {
      const watch = watchEnd(client, task.request_id, signal);
      const run = runChild(words, {
        input: JSON.stringify(task.payload),
        env: { ...inherited, ...describeTask(task) },
        signal: AbortSignal.any([signal, watch.ended]),
        killAfterMs: options.killAfter * 1_000,
        outputBytesMax: options.outputMax,
        onProgress: progress,
        onErrorText: createRelay(screen, task.request_id),
      });
      running.add(run);
      try {
        const end = await run;
        if (end.exitCode !== 0) signal.throwIfAborted();
        return judgeRun(end, words[0] ?? '', options.result);
      } finally {
        running.delete(run);
        watch.leave();
      }
    },
    async untilQuiet() {
      await Promise.allSettled(running);
    },
  };
}

/** Fires as soon as the task has ended without its program; the next heartbeat would tell as well, but later. */
function watchEnd(client: TaskGatewayClient, request_id: string, signal: AbortSignal) {
  const ended = new AbortController();
  const leaving = new AbortController();
  waitForEnd(client, request_id, { signal: AbortSignal.any([signal, leaving.signal]) }).then(
    () => ended.abort(),
    // Whoever can't ask is told by the heartbeat.
    () => undefined,
  );
  return { ended: ended.signal, leave: (): void => leaving.abort() };
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

/** The result a run stands for; throws the reason of one that failed. */
export function judgeRun(
  { exitCode, signal, output, truncated, lastWords }: ChildEnd,
  program: string,
  kind: 'text' | 'json',
): Record<string, unknown> {
  if (exitCode !== 0) {
    const end = exitCode === null ? `was ended by ${signal}` : `ended with exit code ${exitCode}`;
    throw new Error(lastWords || `${program} ${end}`);
  }
  // As a shell does: the line break behind the last line is not part of the text.
  const text = output.replace(/\r?\n$/, '');
  if (kind === 'text') return truncated ? { output: text, truncated } : { output: text };
  if (truncated) throw new Error(`${program} wrote more than --output-max: no JSON can be read from a part`);
  const value = parseResult(text, program);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Error(`${program} wrote JSON that is no object`);
  }
  return { ...value };
}

function parseResult(text: string, program: string): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    throw new Error(`${program} wrote no JSON: ${error instanceof Error ? error.message : error}`);
  }
}

/** Shows what programs write to standard error, line by line, with the end of the task's id in front. */
function createRelay(screen: Screen, request_id: string): (text: string) => void {
  return (text) => {
    for (const line of text.split('\n')) {
      if (line.trim() !== '')
        screen.say(`${screen.err.paint('dim', `[${tailOf(request_id)}]`)} ${cleanText(line)}`);
    }
  };
}

/** Ids of the same moment differ at their end. */
function tailOf(request_id: string): string {
  return cleanText(request_id.slice(-6));
}

function tellNotice(screen: Screen, notice: AgentNotice): void {
  const told = (request_id: string, text: string): void =>
    screen.say(`${screen.err.paint('dim', `[${tailOf(request_id)}]`)} ${cleanText(text)}`);
  switch (notice.kind) {
    case 'registered':
      screen.say(`Registered as ${notice.agent_id} (${notice.endpoint}). Ctrl-C stops.`);
      return;
    case 'taken':
      told(notice.task.request_id, `taken: ${notice.task.task_type} ${notice.task.request_id}`);
      return;
    case 'reported':
      told(
        notice.request_id,
        notice.accepted ? notice.status : `${notice.status}, but the task had ended before`,
      );
      return;
    case 'dropped':
      told(notice.request_id, `dropped: ${notice.reason}`);
      return;
    case 'failure': {
      const text = notice.error instanceof Error ? notice.error.message : String(notice.error);
      screen.say(`${notice.during}: ${cleanText(text)}`);
    }
  }
}

/** `HOST:PORT`, `[::1]:PORT` or `:PORT`, and a path if the gateway calls one. */
export function parseListen(text: string): ListenOptions {
  const [, bracketed, plain, port, path] = /^(?:\[([^\]]+)\]|([^:/]*)):(\d{1,5})(\/.*)?$/.exec(text) ?? [];
  const number = Number(port);
  if (port === undefined || number > 65_535) {
    throw createUsageError(`--listen "${text}" is no address: give HOST:PORT, like 127.0.0.1:9000.`);
  }
  const host = bracketed ?? plain;
  return { port: number, ...(host && { host }), ...(path && { path }) };
}
