/**
 * `agent exec`: makes any program an agent, by one run of the program for each task. The first Ctrl-C stops
 * taking tasks and lets the running ones finish; the second ends them; the third exits at once.
 */
import { hostname } from 'node:os';
import { type Command, Option } from 'commander';
import { type Agent, createAgent, type ListenOptions } from '../../agent/index.ts';
import { collectValue, parseCount, parseSecondsOrZero } from '../arguments/option-values.ts';
import { type AgentLog, createAgentLog } from '../child/agent-log.ts';
import { createChildHandler, OUTPUT_BYTES_MAX } from '../child/child-handler.ts';
import { canRun } from '../child/executables.ts';
import { type CommandContext, connectCommand } from '../command-context.ts';
import { listSecretNames } from '../context-secrets.ts';
import { readContexts } from '../contexts.ts';
import { CommandError, createUsageError, EXIT_CODES, messageOf } from '../exit-codes.ts';
import { startTimer } from '../timers.ts';

type ExecOptions = {
  readonly tag?: readonly string[];
  readonly id?: string;
  readonly max: number;
  readonly listen?: string;
  readonly endpoint?: string;
  readonly result: 'text' | 'json';
  readonly stream?: boolean;
  readonly progress?: RegExp;
  /** In bytes. */
  readonly outputMax: number;
  /** In seconds. */
  readonly killAfter: number;
  /** In seconds. */
  readonly drain: number;
  readonly outbox?: string;
};

const KILL_AFTER_SECONDS = 5;
const DRAIN_SECONDS = 30;
/** How long an agent takes to stop if the gateway never responded to it. */
const UNREACHED_STOP_MS = 1_500;
/** How long after SIGKILL the program's output may be closed and the outcome reported. */
const GRACE_MS = 3_000;

const EXAMPLES = `
The program is started once per task. It reads the payload as JSON from standard input. Its environment has
TASK_REQUEST_ID, TASK_TYPE, TASK_TAGS (a JSON array), TASK_AGENT_ID, TASK_SESSION, TASK_CREATE_TIME and TASK_TIMEOUT,
the task's trace as TRACEPARENT and TRACESTATE, but none of the secrets. If it exits with 0, the task succeeds, and its standard output is the output of the result.
Otherwise the task fails, and the last lines of its standard error, or else of its standard output, are the reason. A
line "::progress 40::" on either output reports the progress, and so does what --progress finds. When the task is cancelled or times out, the program and all processes it started get
SIGTERM, then SIGKILL. With --stream clients see standard output while the program runs ("run --stream", "task output -f");
a program that writes faster than the gateway takes it is held back. The result is the same.

The agent fetches its tasks (--pull), so it needs no open port. With --listen the gateway pushes them; set
TASK_GATEWAY_PUSH_SECRET to reject pushes without a valid signature. After Ctrl-C the agent takes no more tasks and
finishes the running ones; a second Ctrl-C ends them.

Examples:
  $ task-gateway agent exec --tag hello -- jq -r '"Hello, " + .name'
  $ task-gateway agent exec --tag build --stream -- make test
  $ task-gateway agent exec --tag video --progress '(\\d+)%' -- python3 encode.py
  $ task-gateway agent exec --tag gpu --listen 0.0.0.0:9000 --endpoint http://10.0.0.7:9000/ -- ./render`;

export function addAgentExec(parent: Command, context: CommandContext): void {
  parent
    .command('exec')
    .summary('run any program as an agent')
    .description('Registers an agent that runs a program for each of its tasks.')
    .usage('--tag <tag>... [options] -- <command> [argument...]')
    .argument('<command...>', 'the program and its arguments, after --')
    .addOption(new Option('-t, --tag <tag>', 'take tasks with this tag (repeatable)').argParser(collectValue))
    .option(
      '--id <agent_id>',
      'id of the agent (default: TASK_GATEWAY_AGENT_ID, or host name and process id)',
    )
    .option('--max <number>', 'how many tasks to run at once', parseCount, 1)
    .addOption(new Option('--pull', 'fetch the tasks (the default)').conflicts('listen'))
    .option('--listen <host:port>', 'let the gateway push the tasks to this address')
    .option('--endpoint <url>', 'the URL for pushes, if the gateway can’t reach the --listen address itself')
    .addOption(
      new Option('--result <kind>', 'text: stdout is the output of the result; json: stdout is the result')
        .choices(['text', 'json'])
        .default('text'),
    )
    .option('--stream', 'also write standard output to the output of the task while the program runs')
    .option(
      '--progress <regex>',
      'report the last percentage that this finds in a line, for example "(\\d+)%"',
      parsePattern,
    )
    .option(
      '--output-max <bytes>',
      `cut standard output to this size, and never to more than ${OUTPUT_BYTES_MAX} bytes as JSON`,
      parseCount,
      OUTPUT_BYTES_MAX,
    )
    .option('--kill-after <seconds>', 'time from SIGTERM to SIGKILL', parseSecondsOrZero, KILL_AFTER_SECONDS)
    .option('--outbox <file>', 'keep outcomes that could not be reported, and report them at the next start')
    .option(
      '--drain <seconds>',
      'time to finish running tasks after Ctrl-C',
      parseSecondsOrZero,
      DRAIN_SECONDS,
    )
    .addHelpText('after', EXAMPLES)
    .action((words: string[], options: ExecOptions, command: Command) =>
      runExec(context, words, options, command),
    );
}

async function runExec(
  context: CommandContext,
  words: readonly string[],
  options: ExecOptions,
  command: Command,
): Promise<void> {
  const { env, terminal } = context;
  const { id: agentId = env.TASK_GATEWAY_AGENT_ID || `${hostname()}-${process.pid}`, listen } = options;
  const tags = requireUsableOptions(words, options, context);
  const { url, sdkOptions, client } = connectCommand(context, command);
  const secretNames = listSecretsOfContexts(context);
  const pushSecret = env.TASK_GATEWAY_PUSH_SECRET;
  if (pushSecret) terminal.redact([pushSecret]);
  const { handler, isBusy, waitForRuns } = createChildHandler({
    terminal,
    env,
    client,
    command: words,
    resultKind: options.result,
    streams: options.stream === true,
    progress: options.progress,
    secretNames,
    killAfterMs: options.killAfter * 1_000,
    outputBytesMax: Math.min(options.outputMax, OUTPUT_BYTES_MAX),
  });
  const log = createAgentLog(terminal, { url, tags, slots: options.max });
  const agent = createAgent({
    ...sdkOptions,
    agentId,
    tags,
    handler,
    endpoint: options.endpoint,
    outbox: options.outbox,
    isBusy,
    maxConcurrent: options.max,
    listen: listen === undefined ? undefined : parseListen(listen),
    pushSecret: pushSecret || undefined,
    onNotice: log.logNotice,
  });
  terminal.log(`Registering at ${url}.`);
  await runUntilInterrupted(context, agent, options, log);
  await waitForRuns();
}

/**
 * Returns the variables that hold secrets of contexts. If the file can't be read, that is only a warning,
 * because the agent works without it.
 */
function listSecretsOfContexts({ env, terminal }: CommandContext): readonly string[] {
  try {
    return listSecretNames(Object.values(readContexts(env).contexts));
  } catch (error) {
    terminal.log(`${messageOf(error)} Programs get the variables with secrets that it may name.`);
    return [];
  }
}

/** Throws a usage error if the options don't fit together. Returns the tags. */
function requireUsableOptions(
  [program = '']: readonly string[],
  { tag, listen, endpoint }: ExecOptions,
  { env }: CommandContext,
): readonly string[] {
  if (!tag) throw createUsageError('Give --tag: the agent takes tasks with that tag.');
  if (endpoint !== undefined && listen === undefined) {
    throw createUsageError('--endpoint is the URL for pushes to --listen: give both.');
  }
  if (!canRun(program, env)) {
    throw createUsageError(`The program "${program}" can't be run: check its name and PATH.`);
  }
  return tag;
}

/**
 * Runs the agent until it has stopped. If it is stopped before the gateway ever responded to it, it stops
 * quickly and throws.
 */
async function runUntilInterrupted(
  { interrupts, terminal }: CommandContext,
  agent: Agent,
  options: ExecOptions,
  log: AgentLog,
): Promise<void> {
  const graceMs = options.killAfter * 1_000 + GRACE_MS;
  interrupts.allowSecond();
  const stopped = new Promise<void>((resolve) => {
    interrupts.first.addEventListener('abort', () => {
      if (log.isReached()) {
        terminal.log(
          `Stopping: running tasks have ${options.drain} s to finish. Press Ctrl-C to end them now.`,
        );
      } else startTimer(UNREACHED_STOP_MS, resolve);
      agent.stop({ drainMs: options.drain * 1_000, graceMs }).then(resolve);
    });
    interrupts.second.addEventListener('abort', () => {
      terminal.log('Ending the running tasks.');
      void agent.stop({ drainMs: 0, graceMs });
    });
  });
  const started = agent.start();
  await Promise.race([started, stopped]);
  await stopped;
  if (!log.isReached()) {
    throw new CommandError(EXIT_CODES.other, `Stopped before the agent was registered. ${log.lastFailure()}`);
  }
  terminal.log('Stopped.');
}

/** Parses a regular expression. Throws a usage error. */
function parsePattern(text: string): RegExp {
  try {
    return new RegExp(text);
  } catch (error) {
    throw createUsageError(`--progress "${text}" can't be used: ${messageOf(error)}.`);
  }
}

/** Parses `HOST:PORT`, `[IPV6]:PORT` or `:PORT`, each optionally followed by a path. Throws a usage error. */
export function parseListen(text: string): ListenOptions {
  const [, bracketed, plain, port, path] = /^(?:\[([^\]]+)\]|([^:/]*)):(\d{1,5})(\/.*)?$/.exec(text) ?? [];
  const number = Number(port);
  if (port === undefined || number > 65_535) {
    throw createUsageError(`--listen "${text}" is not an address: give HOST:PORT, like 127.0.0.1:9000.`);
  }
  const host = bracketed ?? plain;
  return { port: number, ...(host && { host }), ...(path && { path }) };
}
