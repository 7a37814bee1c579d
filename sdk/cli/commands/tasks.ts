/** `task`: submit, get, wait, cancel, list. */
import { type Command, Option } from 'commander';
import type { TaskQuery } from '../../calls.ts';
import type { TaskGatewayClient } from '../../client.ts';
import type { Task } from '../../contract.ts';
import { BadRequestError } from '../../errors.ts';
import { callAsAdmin } from '../connection.ts';
import { CommandError, EXITS } from '../exit-codes.ts';
import { paintStatus, printOutcome, printTask, renderJson } from '../terminal/outcome.ts';
import { startSpinner } from '../terminal/spinner.ts';
import { type Column, renderTable } from '../terminal/table.ts';
import { connectFor, type Desk, formatFor, parseCount, parseSecondsOrNone } from './context.ts';
import { addSubmissionOptions, readSubmission, type SubmissionOptions } from './submission.ts';
import { waitForEnd } from './wait.ts';

type ListOptions = {
  readonly status?: Task['status'];
  readonly type?: string;
  readonly tag?: string;
  readonly session?: string;
  readonly agent?: string;
  readonly limit: number;
};

const LIMIT = 50;
const PAGE_MAX = 100;
const STATUSES: readonly Task['status'][] = ['pending', 'running', 'success', 'failed'];

/** Adds `task` and what stands under it. */
export function addTaskCommands(program: Command, desk: Desk): void {
  const task = program.command('task').summary('submit, look at, wait for, cancel and list tasks');
  task.description('Tasks, one by one.');
  addSubmit(task, desk);
  addGet(task, desk);
  addWait(task, desk);
  addCancel(task, desk);
  addList(task, desk);
}

function addSubmit(parent: Command, desk: Desk): void {
  addSubmissionOptions(parent.command('submit'))
    .summary('hand in a task and print its id')
    .description('Submits a task without waiting for it, and prints its id; with -o json the whole task.')
    .addHelpText('after', '\nExample:\n  $ id=$(task-gateway task submit greet name=Ada --tag hello)')
    .action(async (type: string, parts: string[], options: SubmissionOptions, command: Command) => {
      const { client } = connectFor(desk, command);
      const submission = await readSubmission(desk, type, parts, options);
      const { idempotencyKey } = options;
      const task = await client.submitTask(submission, { idempotencyKey, signal: desk.interrupts.first });
      const format = formatFor(command);
      await desk.screen.print(format === 'table' ? `${task.request_id}\n` : renderJson(task, format));
    });
}

function addGet(parent: Command, desk: Desk): void {
  parent
    .command('get')
    .summary('show a task')
    .description('Shows a task as it is now. The exit code says whether it was found, not how it went.')
    .argument('<request_id>', 'the task')
    .addHelpText('after', '\nExample:\n  $ task-gateway task get "$id" -o json | jq .status')
    .action(async (request_id: string, _options: unknown, command: Command) => {
      const { client } = connectFor(desk, command);
      const task = await client.getTask(request_id, { signal: desk.interrupts.first });
      await printTask(desk.screen, task, formatFor(command));
    });
}

function addWait(parent: Command, desk: Desk): void {
  parent
    .command('wait')
    .summary('wait for the end of a task and print its result')
    .description('Waits until a task has ended and prints its result, with the exit codes of "run".')
    .argument('<request_id>', 'the task')
    .option('--for <seconds>', 'wait no longer than this; then exit 3', parseSecondsOrNone)
    .addHelpText('after', '\nExample:\n  $ task-gateway task wait "$id" --for 60 || echo "not done: $?"')
    .action(async (request_id: string, options: { for?: number }, command: Command) => {
      const { client } = connectFor(desk, command);
      const spinner = startSpinner(desk.screen, desk.env);
      const waiting = {
        seconds: options.for,
        onLook: desk.screen.err.isTerminal ? spinner.watch : undefined,
        signal: desk.interrupts.first,
      };
      const task = await waitForEnd(client, request_id, waiting).finally(spinner.stop);
      await printOutcome(desk.screen, task, formatFor(command));
    });
}

function addCancel(parent: Command, desk: Desk): void {
  parent
    .command('cancel')
    .summary('cancel a task')
    .description('Cancels a task that has not ended.')
    .argument('<request_id>', 'the task')
    .addHelpText('after', '\nExample:\n  $ task-gateway task cancel "$id"')
    .action(async (request_id: string, _options: unknown, command: Command) => {
      const { client } = connectFor(desk, command);
      const { first: signal } = desk.interrupts;
      const receipt = await client.cancelTask(request_id, { signal }).catch(explainRefusal(request_id));
      const format = formatFor(command);
      await desk.screen.print(
        format === 'table' ? `Cancelled task ${receipt.request_id}.\n` : renderJson(receipt, format),
      );
    });
}

function explainRefusal(request_id: string): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof BadRequestError) || error.code !== 'task_terminal') throw error;
    throw new CommandError(
      EXITS.other,
      `Task ${request_id} has ended already: nothing is left to cancel. See it with "task-gateway task get".`,
    );
  };
}

function addList(parent: Command, desk: Desk): void {
  parent
    .command('list')
    .summary('list tasks, newest first')
    .description('Lists tasks, newest first. Needs the administrator’s secret.')
    .addOption(new Option('--status <status>', 'only tasks in this state').choices(STATUSES))
    .option('--type <type>', 'only tasks of this type')
    .option('--tag <tag>', 'only tasks with this tag')
    .option('--session <id>', 'only tasks of this session')
    .option('--agent <id>', 'only tasks of this agent')
    .option('-n, --limit <number>', 'no more than so many', parseCount, LIMIT)
    .addHelpText(
      'after',
      '\nExamples:\n  $ task-gateway task list --status running\n  $ task-gateway task list --tag zh -n 1000 -o jsonl | jq -r .request_id',
    )
    .action(async ({ limit, ...filters }: ListOptions, command: Command) => {
      const connection = connectFor(desk, command);
      const { first: signal } = desk.interrupts;
      const tasks = await callAsAdmin(connection, () => readTasks(connection.client, filters, limit, signal));
      await printTasks(desk, tasks, command);
    });
}

/** Reads pages until there are enough tasks or no more. A page may be empty although more follow. */
async function readTasks(
  client: TaskGatewayClient,
  filters: Omit<ListOptions, 'limit'>,
  limit: number,
  signal: AbortSignal,
): Promise<readonly Task[]> {
  const tasks: Task[] = [];
  let query: TaskQuery = { ...filters };
  for (;;) {
    const page = await client.listTasks(
      { ...query, limit: Math.min(limit - tasks.length, PAGE_MAX) },
      { signal },
    );
    tasks.push(...page.tasks);
    if (tasks.length >= limit || page.next_cursor === null) return tasks.slice(0, limit);
    query = { ...query, cursor: page.next_cursor };
  }
}

async function printTasks({ screen }: Desk, tasks: readonly Task[], command: Command): Promise<void> {
  const format = formatFor(command);
  if (format === 'json') return screen.print(renderJson(tasks, format));
  if (format === 'jsonl') return screen.print(tasks.map((task) => renderJson(task, format)).join(''));
  if (tasks.length === 0) return screen.say('No task matches.');
  const columns: readonly Column<Task>[] = [
    { title: 'REQUEST ID', cell: ({ request_id }) => request_id, whole: true },
    {
      title: 'STATUS',
      cell: ({ status }) => status,
      paint: (text, { status }) => paintStatus(screen, status, text),
    },
    { title: '%', cell: ({ progress }) => String(progress) },
    { title: 'TYPE', cell: ({ task_type }) => task_type },
    { title: 'TAGS', cell: ({ task_tags }) => task_tags.join(',') },
    { title: 'AGENT', cell: ({ agent_id }) => agent_id ?? '–' },
    { title: 'CREATED', cell: ({ create_time }) => formatTime(create_time) },
    { title: 'ERROR', cell: ({ error_info }) => error_info ?? '' },
  ];
  const paintHead = (text: string): string => screen.out.paint('bold', text);
  await screen.print(renderTable(columns, tasks, { widthMax: screen.out.columns, paintHead }));
}

/** Epoch seconds as UTC, to the second. */
export function formatTime(seconds: number): string {
  return new Date(seconds * 1_000).toISOString().replace(/\.\d+Z$/, 'Z');
}
