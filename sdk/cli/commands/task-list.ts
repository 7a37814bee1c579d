/**
 * `task list`: lists tasks by filters, over as many pages as needed. It prints each page before it reads the
 * next, so that a list of any length takes the memory of one page.
 */
import type { Command } from 'commander';
import type { TaskGatewayClient } from '../../client.ts';
import type { TaskCounts, TaskPage, TaskRow } from '../../contract.ts';
import { parseCount } from '../arguments/option-values.ts';
import { createPagePause } from '../arguments/pages.ts';
import { addFilterOptions, FILTER_HELP, type TaskFilters, toTaskQuery } from '../arguments/task-filters.ts';
import { shortenId } from '../arguments/task-ids.ts';
import { type CommandContext, connectCommand, getOutputFormat } from '../command-context.ts';
import { callAsAdmin } from '../connection.ts';
import { type OutputFormat, paintStatus, renderJson } from '../terminal/output.ts';
import { putLastFirst, stringifySafely } from '../terminal/safe-text.ts';
import { type Column, createTable, renderFields } from '../terminal/table.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { formatAge, formatTime } from '../terminal/time.ts';

type ListOptions = TaskFilters & { readonly limit: number; readonly count?: true };

const DEFAULT_LIMIT = 50;
const PAGE_MAX = 100;
/** A terminal at least this wide shows whole ids. */
const WHOLE_ID_COLUMNS = 120;

const EXAMPLES = `
A terminal of fewer than ${WHOLE_ID_COLUMNS} columns shows the last 8 characters of each id. With the admin secret "task get", "task
wait", "task explain" and "task cancel" take them too.
${FILTER_HELP}

Examples:
  $ task-gateway task list --status running
  $ task-gateway task list --waiting
  $ task-gateway task list --waiting-for-answer
  $ task-gateway task list --outcome no_agent,timeout --after 1h
  $ task-gateway task list --tag zh --count
  $ task-gateway task list --tag zh -n 1000 -o jsonl | jq -r .request_id`;

export function addTaskList(parent: Command, context: CommandContext): void {
  addFilterOptions(
    parent
      .command('list')
      .summary('list tasks, newest first, or count them')
      .description('Lists tasks, newest first, or counts them. Needs the admin secret.'),
  )
    .option('-n, --limit <number>', 'list at most this many tasks', parseCount, DEFAULT_LIMIT)
    .option('--count', 'print how many tasks match instead, by status and by outcome')
    .addHelpText('after', EXAMPLES)
    .action(async ({ limit, count, ...filters }: ListOptions, command: Command) => {
      const { terminal, interrupts } = context;
      const connection = connectCommand(context, command, true);
      const { client } = connection;
      const { first: signal } = interrupts;
      const format = getOutputFormat(command);
      await callAsAdmin(connection, async () => {
        if (count) return await printCounts(terminal, client, filters, format, signal);
        const writer = format === 'table' ? createTableWriter(terminal) : createJsonWriter(terminal, format);
        for await (const rows of readPages(client, filters, limit, signal)) await writer.write(rows);
        await writer.end();
      });
    });
}

/** Yields pages until there are enough rows or no more pages. An empty page need not be the last. */
async function* readPages(
  client: Pick<TaskGatewayClient, 'listTasks'>,
  filters: TaskFilters,
  limit: number,
  signal: AbortSignal,
): AsyncGenerator<readonly TaskRow[], void, undefined> {
  let cursor: string | undefined;
  const pause = createPagePause(signal);
  for (let rest = limit; rest > 0; ) {
    const query = { ...toTaskQuery(filters), limit: Math.min(rest, PAGE_MAX) };
    const page: TaskPage = await client.listTasks(
      { ...query, ...(cursor !== undefined && { cursor }) },
      { signal },
    );
    yield page.tasks.slice(0, rest);
    rest -= page.tasks.length;
    if (page.next_cursor === null) return;
    cursor = page.next_cursor;
    await pause(page.tasks.length);
  }
}

/** Writes a list in pieces, which together are the whole list in its format. */
type ListWriter = {
  write(rows: readonly TaskRow[]): Promise<void>;
  end(): Promise<void>;
};

function createJsonWriter(terminal: Terminal, format: 'json' | 'jsonl'): ListWriter {
  if (format === 'json') return createArrayWriter(terminal);
  return {
    write: (tasks) => terminal.print(tasks.map((task) => renderJson(task, format)).join('')),
    end: async () => undefined,
  };
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

/** Only a running task is said to wait for an agent that takes it: a pending one always does. */
function describeStatus({ status, waiting, waiting_for_answer }: TaskRow): string {
  if (status !== 'running') return status;
  if (waiting) return 'running, waits';
  return waiting_for_answer ? 'running, asks' : status;
}

/** Returns the columns of a table for a file or another program. */
function listFileColumns(): readonly Column<TaskRow>[] {
  return [
    { title: 'REQUEST ID', cell: ({ request_id }) => request_id, whole: true },
    { title: 'STATUS', cell: describeStatus },
    { title: '%', cell: ({ progress }) => String(progress) },
    { title: 'TYPE', cell: ({ task_type }) => task_type },
    { title: 'TAGS', cell: ({ task_tags }) => task_tags.join(',') },
    { title: 'AGENT', cell: ({ agent_id }) => agent_id ?? '–' },
    { title: 'CREATED', cell: ({ create_time }) => formatTime(create_time, 'seconds') },
    { title: 'ERROR', cell: ({ error_info }) => putLastFirst(error_info ?? '') },
  ];
}

/** Returns the columns for a person: what tells the tasks apart comes first, and all fit into 80 columns. */
function listTerminalColumns(terminal: Terminal, widthMax: number): readonly Column<TaskRow>[] {
  const nowSeconds = Date.now() / 1_000;
  const showId = widthMax < WHOLE_ID_COLUMNS ? shortenId : (id: string) => id;
  return [
    { title: 'ID', cell: ({ request_id }) => showId(request_id), whole: true },
    { title: 'CREATED', cell: ({ create_time }) => formatAge(nowSeconds - create_time), whole: true },
    {
      title: 'STATUS',
      cell: describeStatus,
      paint: (text, { status }) => paintStatus(terminal, status, text),
      whole: true,
    },
    { title: '%', cell: ({ progress }) => String(progress) },
    { title: 'TYPE', cell: ({ task_type }) => task_type },
    { title: 'TAGS', cell: ({ task_tags }) => task_tags.join(',') },
    { title: 'AGENT', cell: ({ agent_id }) => agent_id ?? '–' },
    { title: 'ERROR', cell: ({ error_info }) => putLastFirst(error_info ?? '') },
  ];
}

async function printCounts(
  terminal: Terminal,
  client: Pick<TaskGatewayClient, 'listTasks'>,
  filters: TaskFilters,
  format: OutputFormat,
  signal: AbortSignal,
): Promise<void> {
  const { counts } = await client.listTasks({ ...toTaskQuery(filters), counts: true, limit: 1 }, { signal });
  if (counts === null) throw new Error('The response has no counts.');
  await terminal.print(format === 'table' ? renderCounts(terminal, counts) : renderJson(counts, format));
}

function renderCounts({ out }: Terminal, counts: TaskCounts): string {
  const { total, complete, by_status, waiting, waiting_for_answer, by_outcome } = counts;
  const list = (counts: object): string =>
    Object.entries(counts)
      .map(([name, count]) => `${name} ${count}`)
      .join(', ');
  return renderFields(
    [
      ['Tasks', complete ? String(total) : `at least ${total}`],
      ['By status', list(by_status)],
      ['Waiting', String(waiting)],
      ['For an answer', String(waiting_for_answer)],
      ['By outcome', list(by_outcome)],
    ],
    out.paint,
  );
}
