/**
 * `task list`: lists tasks by filters, over as many pages as needed. Each page is printed before the next one
 * is read, so a list of any length takes the memory of one page.
 */
import { type Command, Option } from 'commander';
import type { TaskQuery } from '../../calls.ts';
import type { TaskGatewayClient } from '../../client.ts';
import type { Task } from '../../contract.ts';
import { callAsAdmin } from '../connection.ts';
import { type OutputFormat, paintStatus, renderJson } from '../terminal/outcome.ts';
import { stringifySafely } from '../terminal/safe-text.ts';
import { type Column, createTable } from '../terminal/table.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { formatAge, formatTime } from '../terminal/time.ts';
import { type CommandContext, connectCommand, getOutputFormat } from './context.ts';
import { parseCount } from './option-values.ts';
import { shortenId } from './task-ids.ts';

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
/** From this width on a terminal shows whole ids. */
const WHOLE_ID_COLUMNS = 120;
const STATUSES: readonly Task['status'][] = ['pending', 'running', 'success', 'failed'];

const EXAMPLES = `
A terminal of fewer than ${WHOLE_ID_COLUMNS} columns shows the last 8 characters of each id. With the admin secret "task get", "task
wait" and "task cancel" take them too, for the newest 1,000 tasks.

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
      const connection = connectCommand(context, command, true);
      const { first: signal } = context.interrupts;
      const writer = createListWriter(context.terminal, getOutputFormat(command));
      await callAsAdmin(connection, async () => {
        for await (const tasks of readPages(connection.client, filters, limit, signal)) {
          await writer.write(tasks);
        }
        await writer.end();
      });
    });
}

/** Yields pages until there are enough tasks or no further page. A page may be empty and not be the last. */
async function* readPages(
  client: TaskGatewayClient,
  filters: Omit<ListOptions, 'limit'>,
  limit: number,
  signal: AbortSignal,
): AsyncGenerator<readonly Task[], void, undefined> {
  let query: TaskQuery = { ...filters };
  for (let rest = limit; rest > 0; ) {
    const page = await client.listTasks({ ...query, limit: Math.min(rest, PAGE_MAX) }, { signal });
    yield page.tasks.slice(0, rest);
    rest -= page.tasks.length;
    if (page.next_cursor === null) return;
    query = { ...query, cursor: page.next_cursor };
  }
}

/** Writes a list in pieces; all of them together are what the whole list would be in the format. */
type ListWriter = {
  write(tasks: readonly Task[]): Promise<void>;
  end(): Promise<void>;
};

function createListWriter(terminal: Terminal, format: OutputFormat): ListWriter {
  switch (format) {
    case 'jsonl':
      return {
        write: (tasks) => terminal.print(tasks.map((task) => renderJson(task, format)).join('')),
        end: async () => undefined,
      };
    case 'json':
      return createArrayWriter(terminal);
    case 'table':
      return createTableWriter(terminal);
  }
}

function createArrayWriter(terminal: Terminal): ListWriter {
  let separator = '[\n';
  return {
    async write(tasks) {
      for (const task of tasks) {
        await terminal.print(separator + stringifySafely(task, 2).replaceAll(/^/gm, '  '));
        separator = ',\n';
      }
    },
    end: () => terminal.print(separator.startsWith('[') ? '[]\n' : '\n]\n'),
  };
}

function createTableWriter(terminal: Terminal): ListWriter {
  const { columns: widthMax, paint } = terminal.out;
  const columns = widthMax === undefined ? listFileColumns() : listTerminalColumns(terminal, widthMax);
  const table = createTable(columns, { widthMax, paintHead: (text) => paint('bold', text) });
  let isEmpty = true;
  return {
    async write(tasks) {
      if (tasks.length === 0) return;
      isEmpty = false;
      await terminal.print(table.render(tasks));
    },
    async end() {
      if (isEmpty) terminal.log('No task matches.');
    },
  };
}

/** The columns of a table that goes to a file or another program. */
function listFileColumns(): readonly Column<Task>[] {
  return [
    { title: 'REQUEST ID', cell: ({ request_id }) => request_id, whole: true },
    { title: 'STATUS', cell: ({ status }) => status },
    { title: '%', cell: ({ progress }) => String(progress) },
    { title: 'TYPE', cell: ({ task_type }) => task_type },
    { title: 'TAGS', cell: ({ task_tags }) => task_tags.join(',') },
    { title: 'AGENT', cell: ({ agent_id }) => agent_id ?? '–' },
    { title: 'CREATED', cell: ({ create_time }) => formatTime(create_time, 'seconds') },
    { title: 'ERROR', cell: ({ error_info }) => error_info ?? '' },
  ];
}

/** The columns for a person: what distinguishes the tasks comes first, and all fit into 80 columns. */
function listTerminalColumns(terminal: Terminal, widthMax: number): readonly Column<Task>[] {
  const nowSeconds = Date.now() / 1_000;
  const showId = widthMax < WHOLE_ID_COLUMNS ? shortenId : (id: string) => id;
  return [
    { title: 'ID', cell: ({ request_id }) => showId(request_id), whole: true },
    { title: 'CREATED', cell: ({ create_time }) => formatAge(nowSeconds - create_time), whole: true },
    {
      title: 'STATUS',
      cell: ({ status }) => status,
      paint: (text, { status }) => paintStatus(terminal, status, text),
      whole: true,
    },
    { title: '%', cell: ({ progress }) => String(progress) },
    { title: 'TYPE', cell: ({ task_type }) => task_type },
    { title: 'TAGS', cell: ({ task_tags }) => task_tags.join(',') },
    { title: 'AGENT', cell: ({ agent_id }) => agent_id ?? '–' },
    { title: 'ERROR', cell: ({ error_info }) => error_info ?? '' },
  ];
}
