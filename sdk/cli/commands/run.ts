/** `run`: hands in a task, waits for its end and prints its result. Ctrl-C cancels the task. */
import type { Command } from 'commander';
import type { TaskGatewayClient } from '../../client.ts';
import type { Task, TaskSubmission } from '../../contract.ts';
import { AbortError, TaskFailedError, TaskGatewayError } from '../../errors.ts';
import { CANCELLED_TEXT, isSettled } from '../../settled.ts';
import { CommandError, EXITS } from '../exit-codes.ts';
import { printOutcome } from '../terminal/outcome.ts';
import { type Spinner, startSpinner } from '../terminal/spinner.ts';
import { connectFor, type Desk, formatFor, parseSeconds } from './context.ts';
import { addSubmissionOptions, readSubmission, type SubmissionOptions } from './submission.ts';

type RunOptions = SubmissionOptions & { readonly wait?: number };

/** After Ctrl-C the gateway is asked once more what became of the task. */
const LAST_LOOK_MS = 5_000;

const EXAMPLES = `
Prints the result's output; with -o json the whole task. Ctrl-C cancels the task and waits for that; again, it leaves
at once. The exit code tells the outcome: 0 success, 5 failed, 6 no agent, 3 --wait over.

Examples:
  $ task-gateway run greet name=世界 --tag hello
  $ task-gateway run report week:=47 'range:={"from":1,"to":5}' -t weekly --timeout 120
  $ task-gateway run review @change.json author=ada -t review -o json
  $ jq '{text: .}' notes.json | task-gateway run translate - -t zh --queue-timeout 30`;

/** Adds `run`. */
export function addRunCommand(program: Command, desk: Desk): void {
  addSubmissionOptions(program.command('run'))
    .summary('run a task and print its result')
    .description('Submits a task, waits for its end, and prints its result.')
    .option('--wait <seconds>', 'wait no longer than this; the task goes on', parseSeconds)
    .addHelpText('after', EXAMPLES)
    .action(async (type: string, parts: string[], options: RunOptions, command: Command) => {
      const { client } = connectFor(desk, command);
      const submission = await readSubmission(desk, type, parts, options);
      const task = await runToItsEnd(desk, client, submission, options);
      await printOutcome(desk.screen, task, formatFor(command));
    });
}

/** Runs the task; answers it once it has ended, well or not. */
async function runToItsEnd(
  desk: Desk,
  client: TaskGatewayClient,
  submission: TaskSubmission,
  options: RunOptions,
): Promise<Task> {
  const { idempotencyKey, wait } = options;
  const { first } = desk.interrupts;
  const spinner = startSpinner(desk.screen, desk.env);
  first.addEventListener('abort', () => spinner.tell('cancelling'));
  let latest: Task | undefined;
  const running = client.runTask(submission, {
    signal: first,
    cancelOnAbort: true,
    idempotencyKey,
    onProgress(task) {
      latest = task;
      spinner.watch(task);
    },
  });
  try {
    return await (wait === undefined ? running : Promise.race([running, endWait(wait, () => latest)]));
  } catch (error) {
    if (error instanceof TaskFailedError) {
      return first.aborted ? judgeCancelled(desk, error.task) : error.task;
    }
    if (error instanceof AbortError) return await lookAfterCancel(desk, client, latest, spinner);
    throw error;
  } finally {
    spinner.stop();
  }
}

async function endWait(seconds: number, latest: () => Task | undefined): Promise<never> {
  await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
  const id = latest()?.request_id;
  const advice = id
    ? `Task ${id} goes on: wait for it with "task-gateway task wait ${id}".`
    : 'It was not handed in yet.';
  throw new CommandError(EXITS.waitOver, `The task has not ended within ${seconds} s. ${advice}`);
}

/** What became of the task that was to be cancelled: it may have ended just before, or the gateway may be away. */
async function lookAfterCancel(
  desk: Desk,
  client: TaskGatewayClient,
  latest: Task | undefined,
  spinner: Spinner,
): Promise<Task> {
  const exitCode = desk.interrupts.exitCode();
  if (!latest) throw new CommandError(exitCode, 'Interrupted before the task was handed in.');
  const { request_id } = latest;
  spinner.tell('waiting for the cancellation');
  const task = await client
    .getTask(request_id, { timeoutMs: LAST_LOOK_MS, maxRetries: 0 })
    .catch((error: unknown) => {
      if (error instanceof TaskGatewayError) return undefined;
      throw error;
    });
  if (task && isSettled(task)) return judgeCancelled(desk, task);
  throw new CommandError(
    exitCode,
    `Interrupted, but the gateway could not be told: task ${request_id} may go on. Cancel it with "task-gateway task cancel ${request_id}".`,
  );
}

function judgeCancelled(desk: Desk, task: Task): Task {
  if (task.error_info !== CANCELLED_TEXT) return task;
  throw new CommandError(desk.interrupts.exitCode(), `Cancelled task ${task.request_id}.`);
}
