/**
 * `task` with its commands `submit`, `get`, `explain`, `wait`, `output`, `answer`, `cancel`, `list` and
 * `failures`.
 */
import type { Command } from 'commander';
import type { Task } from '../../contract.ts';
import { createAgentsWatch } from '../agents-watch.ts';
import { parseSecondsOrZero } from '../arguments/option-values.ts';
import { addSubmissionOptions, readSubmission, type SubmissionOptions } from '../arguments/submission.ts';
import { resolveTaskId } from '../arguments/task-ids.ts';
import { type CommandContext, connectCommand, getOutputFormat } from '../command-context.ts';
import { printOutcome, printTask, renderJson } from '../terminal/output.ts';
import { cleanText } from '../terminal/safe-text.ts';
import { startSpinner } from '../terminal/spinner.ts';
import { readTraceEnvironment } from '../trace-environment.ts';
import { waitUntilSettled } from '../wait.ts';
import { addTaskExplain, findHint } from './explain.ts';
import { addTaskAnswer } from './task-answer.ts';
import { addTaskCancel } from './task-cancel.ts';
import { addTaskFailures } from './task-failures.ts';
import { addTaskList } from './task-list.ts';
import { addTaskOutput } from './task-output.ts';

export function addTaskCommands(program: Command, context: CommandContext): void {
  const task = program
    .command('task')
    .summary('submit, show, explain, await, read, answer, cancel or list tasks, or those that failed');
  task.description(
    'Submits a task, shows it, explains it, waits for it, prints its output, answers its questions, cancels it, or lists tasks or who fails.',
  );
  addTaskSubmit(task, context);
  addTaskGet(task, context);
  addTaskExplain(task, context);
  addTaskWait(task, context);
  addTaskOutput(task, context);
  addTaskAnswer(task, context);
  addTaskCancel(task, context);
  addTaskList(task, context);
  addTaskFailures(task, context);
}

function addTaskSubmit(parent: Command, context: CommandContext): void {
  const { terminal, interrupts } = context;
  addSubmissionOptions(parent.command('submit'), '0')
    .summary('submit a task and print its id')
    .description('Submits a task and prints its id without waiting for it; with -o json, prints the task.')
    .addHelpText('after', '\nExample:\n  $ id=$(task-gateway task submit greet name=Ada --tag hello)')
    .action(async (type: string, parts: string[], options: SubmissionOptions, command: Command) => {
      const { client } = connectCommand(context, command);
      const submission = await readSubmission(context, type, parts, options);
      const { idempotencyKey } = options;
      const trace = readTraceEnvironment(context.env);
      const task = await client.submitTask(submission, {
        idempotencyKey,
        signal: interrupts.first,
        ...trace,
      });
      const format = getOutputFormat(command);
      await terminal.print(format === 'table' ? `${cleanText(task.request_id)}\n` : renderJson(task, format));
    });
}

function addTaskGet(parent: Command, context: CommandContext): void {
  const { terminal, interrupts } = context;
  parent
    .command('get')
    .summary('show a task')
    .description('Shows the current state of a task. Exits with 0 also for a task that failed.')
    .argument('<request_id>', 'id of the task')
    .addHelpText('after', '\nExample:\n  $ task-gateway task get "$id" -o json | jq .status')
    .action(async (id: string, _options: unknown, command: Command) => {
      const connection = connectCommand(context, command);
      const { client } = connection;
      const request_id = await resolveTaskId(connection, id, interrupts.first);
      const task = await client.getTask(request_id, { signal: interrupts.first });
      await printTask(terminal, task, getOutputFormat(command));
    });
}

function addTaskWait(parent: Command, context: CommandContext): void {
  const { terminal, interrupts } = context;
  parent
    .command('wait')
    .summary('wait for a task and print its result')
    .description(
      'Waits until a task has succeeded or failed, and prints its result. Has the exit codes of "run".',
    )
    .argument('<request_id>', 'id of the task')
    .option('--for <seconds>', 'stop waiting after this time, with exit code 3', parseSecondsOrZero)
    .addHelpText('after', '\nExample:\n  $ task-gateway task wait "$id" --for 60 || echo "no result: $?"')
    .action(async (id: string, options: { for?: number }, command: Command) => {
      interrupts.needReader();
      const connection = connectCommand(context, command);
      const { client } = connection;
      const request_id = await resolveTaskId(connection, id, interrupts.first);
      const spinner = startSpinner(terminal, context.env);
      const showAgents = createAgentsWatch(connection, spinner, interrupts.first);
      const waitOptions = {
        waitSeconds: options.for,
        onPoll: terminal.err.isTty ? showTask : undefined,
        signal: interrupts.first,
      };
      function showTask(task: Task): void {
        spinner.showTask(task);
        showAgents(task);
      }
      const task = await waitUntilSettled(client, request_id, waitOptions).finally(spinner.stop);
      await printOutcome(terminal, task, getOutputFormat(command), await findHint(client, task));
    });
}
