/** `run`: submits a task, waits for its outcome and prints the result. Ctrl-C cancels the task. */
import type { Command } from 'commander';
import type { TaskGatewayClient } from '../../client.ts';
import type { OutputPiece, Question, Task, TaskSubmission } from '../../contract.ts';
import { AbortError, TaskGatewayError } from '../../errors.ts';
import { createId } from '../../ids.ts';
import { isSettled, outcomeOf } from '../../settled.ts';
import { NoAgentAvailableError, TaskFailedError } from '../../task-errors.ts';
import { createAgentsWatch } from '../agents-watch.ts';
import { askPerson, canAsk } from '../answering.ts';
import { describeCommand } from '../arguments/answer.ts';
import { parseSeconds } from '../arguments/option-values.ts';
import { addSubmissionOptions, readSubmission, type SubmissionOptions } from '../arguments/submission.ts';
import { type CommandContext, connectCommand, getOutputFormat } from '../command-context.ts';
import type { Connection } from '../connection.ts';
import { CommandError, EXIT_CODES } from '../exit-codes.ts';
import { type OutputFormat, printOutcome, requireSuccess } from '../terminal/output.ts';
import { createPiecePrinter } from '../terminal/pieces.ts';
import { type Spinner, startSpinner } from '../terminal/spinner.ts';
import { startTimer } from '../timers.ts';
import { readTraceEnvironment } from '../trace-environment.ts';
import { findHint } from './explain.ts';

/** `wait` is in seconds. */
type RunOptions = SubmissionOptions & { readonly wait?: number; readonly stream?: boolean };

/** How long the command asks the gateway for the outcome after Ctrl-C. */
const CANCEL_CHECK_MS = 5_000;

const EXAMPLES = `
Prints the text of the result; with -o json, prints the whole task. With --stream it prints what the agent writes, while it
writes it, and not the result: text as it is, data as lines of JSON; with -o json each piece is an object on a line. What the
agent asks, it asks you on a terminal; elsewhere it says how to answer ("task answer"). If no agent is free, the task waits
for one for 30 s, or as long as --queue-timeout says; with --queue-timeout 0 it fails at once. Ctrl-C cancels the task and
waits until it is cancelled; a second Ctrl-C exits at once. A reader of the output that goes away, as head does, cancels the
task too. Exit codes: 0 the task succeeded, 5 it failed, 6 no agent was available, 3 --wait timed out, 141 the reader is gone.

Examples:
  $ task-gateway run greet name=世界 --tag hello
  $ task-gateway run report week:=47 'range:={"from":1,"to":5}' -t weekly --timeout 120
  $ task-gateway run chat 'text=Why is the sky blue?' -t llm --stream
  $ task-gateway run review @change.json author=ada -t review -o json
  $ jq '{text: .}' notes.json | task-gateway run translate - -t zh --queue-timeout 30`;

/** How long a task waits for an agent by default: nobody gains if it fails while all agents are full. */
const QUEUE_TIMEOUT_SECONDS = 30;
/** The gateway's timeout for a task that names none. */
const TIMEOUT_SECONDS = 600;

export function addRunCommand(program: Command, context: CommandContext): void {
  addSubmissionOptions(program.command('run'), '30, or --timeout if that is less')
    .summary('run a task and print its result')
    .description('Submits a task, waits until it has succeeded or failed, and prints its result.')
    .option('--wait <seconds>', 'stop waiting after this time; the task continues', parseSeconds)
    .option('--stream', 'print what the agent writes while it works, instead of the result')
    .addHelpText('after', EXAMPLES)
    .action(async (type: string, parts: string[], options: RunOptions, command: Command) => {
      context.interrupts.needReader();
      const connection = connectCommand(context, command);
      const submission = addQueueTimeout(await readSubmission(context, type, parts, options));
      const format = getOutputFormat(command);
      const { task, hint } = await runUntilSettled(context, connection, submission, { ...options, format });
      if (!options.stream) await printOutcome(context.terminal, task, format, hint);
      else requireSuccess(task, hint);
    });
}

/** Returns the submission with its time to wait for an agent, which is never longer than its timeout. */
function addQueueTimeout(submission: TaskSubmission): TaskSubmission {
  const { timeout = TIMEOUT_SECONDS } = submission;
  return { queue_timeout: Math.min(QUEUE_TIMEOUT_SECONDS, timeout), ...submission };
}

/** A task that has ended, and if it failed, what to do about it. */
type RunOutcome = { readonly task: Task; readonly hint: string | null };

/**
 * Runs the task and returns it once it has succeeded or failed. Throws if the wait times out, or on Ctrl-C.
 */
async function runUntilSettled(
  context: CommandContext,
  connection: Connection,
  submission: TaskSubmission,
  options: RunOptions & { readonly format: OutputFormat },
): Promise<RunOutcome> {
  const { client } = connection;
  // Even a key made here finds the task again: see `readAfterCancel`.
  const { idempotencyKey = createId(), wait } = options;
  const { first } = context.interrupts;
  const spinner = startSpinner(context.terminal, context.env);
  const showAgents = createAgentsWatch(connection, spinner, first);
  first.addEventListener('abort', () => spinner.showText('cancelling'));
  let latest: Task | undefined;
  const stream = options.stream
    ? createStream(context, options.format, spinner, () => latest?.request_id ?? '')
    : undefined;
  const running = client.runTask(submission, {
    signal: first,
    cancelOnAbort: true,
    idempotencyKey,
    ...readTraceEnvironment(context.env),
    onOutput: stream?.onOutput,
    onQuestion: stream?.onQuestion,
    onProgress(task) {
      latest = task;
      spinner.showTask(task);
      if (context.terminal.err.isTty) showAgents(task);
    },
  });
  try {
    const task = await (wait === undefined
      ? running
      : Promise.race([running, rejectAfterWait(wait, () => latest)]));
    await stream?.printed();
    return { task, hint: null };
  } catch (error) {
    if (error instanceof TaskFailedError) {
      await stream?.printed();
      const task = first.aborted ? requireNotCancelled(context, error.task) : error.task;
      // The SDK has already asked why the task found no agent.
      const isExplained = error instanceof NoAgentAvailableError;
      const hint = isExplained ? (error.explanation?.hint ?? null) : await findHint(client, task);
      return { task, hint };
    }
    if (error instanceof AbortError) {
      await error.cancelled;
      spinner.showText('waiting for the cancellation');
      return { task: await readAfterCancel(context, client, error), hint: null };
    }
    throw error;
  } finally {
    spinner.stop();
  }
}

/**
 * Prints what the agent writes, in order. Asks the person at the terminal the agent's questions, one at a
 * time; without a terminal, standard error says how to answer.
 */
function createStream(context: CommandContext, format: OutputFormat, spinner: Spinner, taskId: () => string) {
  const asks = format === 'table' && canAsk(context);
  const pieces = createPiecePrinter(context.terminal, format, (question) =>
    asks ? undefined : describeCommand(taskId(), question),
  );
  let printing: Promise<void> = Promise.resolve();
  let asking: Promise<unknown> = Promise.resolve();
  return {
    printed: () => printing,
    onOutput(piece: OutputPiece): void {
      // A piece may end within a line, and the spinner would remove that line.
      spinner.stop();
      printing = printing.then(() => pieces.print(piece));
      printing.catch(() => undefined);
    },
    onQuestion: asks
      ? (question: Question, { signal }: { readonly signal: AbortSignal }): Promise<unknown> => {
          const asked = asking.then(async () => {
            await printing;
            return await askPerson(context, question, signal);
          });
          asking = asked.catch(() => undefined);
          return asked;
        }
      : undefined,
  };
}

async function rejectAfterWait(seconds: number, getLatest: () => Task | undefined): Promise<never> {
  await new Promise<void>((resolve) => void startTimer(seconds * 1_000, resolve));
  const id = getLatest()?.request_id;
  const advice = id
    ? `Task ${id} continues: wait for it with "task-gateway task wait ${id}".`
    : 'The gateway has not accepted the task yet.';
  throw new CommandError(EXIT_CODES.waitTimeout, `There is no result after ${seconds} s. ${advice}`);
}

/**
 * Reads the task after Ctrl-C. Returns it if it ended before the cancellation. Throws if it was cancelled, or
 * if the gateway can't be reached, so that nobody knows the outcome.
 */
async function readAfterCancel(
  context: CommandContext,
  client: TaskGatewayClient,
  { request_id, idempotencyKey, cancelled }: AbortError,
): Promise<Task> {
  const exitCode = context.interrupts.exitCode();
  if (!request_id) {
    const advice = (await cancelled)
      ? ''
      : ` It may still have: repeat the command with --idempotency-key ${idempotencyKey} to find its task.`;
    throw new CommandError(exitCode, `Interrupted before the gateway accepted the task.${advice}`);
  }
  const task = await client
    .getTask(request_id, { timeoutMs: CANCEL_CHECK_MS, maxRetries: 0 })
    .catch((error: unknown) => {
      if (error instanceof TaskGatewayError) return undefined;
      throw error;
    });
  if (task && isSettled(task)) return requireNotCancelled(context, task);
  throw new CommandError(
    exitCode,
    `Interrupted, but the gateway did not confirm the cancellation: task ${request_id} may continue. Cancel it with "task-gateway task cancel ${request_id}".`,
  );
}

function requireNotCancelled(context: CommandContext, task: Task): Task {
  if (!isSettled(task) || outcomeOf(task) !== 'cancelled') return task;
  throw new CommandError(context.interrupts.exitCode(), `Cancelled task ${task.request_id}.`);
}
