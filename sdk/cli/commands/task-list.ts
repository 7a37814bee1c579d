/** `task list`: lists tasks by filters, over as many pages as needed. */
import { type Command, Option } from 'commander';
import type { TaskQuery } from '../../calls.ts';
import type { TaskGatewayClient } from '../../client.ts';
import type { Task } from '../../contract.ts';
import { callAsAdmin } from '../connection.ts';
import { paintStatus, renderJson } from '../terminal/outcome.ts';
import { type Column, renderTable } from '../terminal/table.ts';
import { type CommandContext, connectCommand, getOutputFormat } from './context.ts';
import { parseCount } from './option-values.ts';

type ListOptions = {
  readonly status?: Task['status'];
  readonly type?: string;
  readonly tag?: string;
  readonly session?: string;
  readonly agent?: string;
  readonly limit: number;
};

const DEFAULT_LIMIT = 50;
const PAGE_MAX = 100;
const STATUSES: readonly Task['status'][] = ['pending', 'running', 'success', 'failed'];

const EXAMPLES = `
Examples:
  $ task-gateway task list --status running
  $ task-gateway task list --tag zh -n 1000 -o jsonl | jq -r .request_id`;

/** Adds `list` to `task`. */
export function addTaskList(parent: Command, context: CommandContext): void {
  parent
    .command('list')
    .summary('list tasks, newest first')
    .description('Lists tasks, newest first. Needs the admin secret.')
    .addOption(new Option('--status <status>', 'only tasks with this status').choices(STATUSES))
    .option('--type <type>', 'only tasks of this type')
    .option('--tag <tag>', 'only tasks with this tag')
    .option('--session <id>', 'only tasks of this session')
    .option('--agent <id>', 'only tasks of this agent')
    .option('-n, --limit <number>', 'list at most this many tasks', parseCount, DEFAULT_LIMIT)
    .addHelpText('after', EXAMPLES)
    .action(async ({ limit, ...filters }: ListOptions, command: Command) => {
      const connection = connectCommand(context, command);
      const { first: signal } = context.interrupts;
      const tasks = await callAsAdmin(connection, () => readTasks(connection.client, filters, limit, signal));
      await printTasks(context, tasks, command);
    });
}

/**
 * Reads pages until there are enough tasks or no further page. A page may be empty and still not be the last.
 */
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

async function printTasks(
  { terminal }: CommandContext,
  tasks: readonly Task[],
  command: Command,
): Promise<void> {
  const format = getOutputFormat(command);
  if (format === 'json') return terminal.print(renderJson(tasks, format));
  if (format === 'jsonl') return terminal.print(tasks.map((task) => renderJson(task, format)).join(''));
  if (tasks.length === 0) return terminal.log('No task matches.');
  const columns: readonly Column<Task>[] = [
    { title: 'REQUEST ID', cell: ({ request_id }) => request_id, whole: true },
    {
      title: 'STATUS',
      cell: ({ status }) => status,
      paint: (text, { status }) => paintStatus(terminal, status, text),
    },
    { title: '%', cell: ({ progress }) => String(progress) },
    { title: 'TYPE', cell: ({ task_type }) => task_type },
    { title: 'TAGS', cell: ({ task_tags }) => task_tags.join(',') },
    { title: 'AGENT', cell: ({ agent_id }) => agent_id ?? '–' },
    { title: 'CREATED', cell: ({ create_time }) => formatTime(create_time) },
    { title: 'ERROR', cell: ({ error_info }) => error_info ?? '' },
  ];
  const paintHead = (text: string): string => terminal.out.paint('bold', text);
  await terminal.print(renderTable(columns, tasks, { widthMax: terminal.out.columns, paintHead }));
}

/** Formats seconds since the epoch as a UTC time, to the second. */
function formatTime(seconds: number): string {
  return new Date(seconds * 1_000).toISOString().replace(/\.\d+Z$/, 'Z');
}
