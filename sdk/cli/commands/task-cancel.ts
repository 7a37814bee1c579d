/** `task cancel`: cancels one task, or with `--filter` all that match. */
import { type Command, Option } from 'commander';
import type { TaskGatewayClient } from '../../client.ts';
import type { CancellationReceipt } from '../../contract.ts';
import { BadRequestError } from '../../errors.ts';
import { createPagePause } from '../arguments/pages.ts';
import { collectFilter, FILTER_HELP, type TaskFilters, toCancelFilter } from '../arguments/task-filters.ts';
import { resolveTaskId } from '../arguments/task-ids.ts';
import { type CommandContext, connectCommand, getOutputFormat } from '../command-context.ts';
import { callAsAdmin } from '../connection.ts';
import { CommandError, createUsageError, EXIT_CODES } from '../exit-codes.ts';
import { renderJson } from '../terminal/output.ts';
import { cleanText } from '../terminal/safe-text.ts';

type CancelOptions = { readonly filter?: TaskFilters; readonly dryRun?: boolean };

const EXAMPLES = `
With --filter it needs the admin secret, and leaves alone what is submitted after it has begun. The keys of filters: status,
outcome, waiting and waiting_for_answer (true or false), type, tag, session, agent, id, after, before.${FILTER_HELP}

Examples:
  $ task-gateway task cancel "$id"
  $ task-gateway task cancel --filter status=pending --filter type=translate --dry-run
  $ task-gateway task cancel --filter waiting=true --filter tag=gpu --filter before=1h`;

export function addTaskCancel(parent: Command, context: CommandContext): void {
  parent
    .command('cancel')
    .summary('cancel a task, or all that match')
    .description('Cancels a pending or running task, or with --filter all of them that match.')
    .argument('[request_id]', 'id of the task')
    .addOption(
      new Option('--filter <key=value>', 'cancel the tasks that match (repeatable)').argParser(collectFilter),
    )
    .option('--dry-run', 'with --filter: say how many tasks that would be, and cancel none')
    .addHelpText('after', EXAMPLES)
    .action(async (id: string | undefined, options: CancelOptions, command: Command) => {
      if ((id === undefined) === (options.filter === undefined)) {
        throw createUsageError('Give the id of a task, or --filter.');
      }
      if (id === undefined) return await cancelMatching(context, options, command);
      if (options.dryRun) throw createUsageError('--dry-run is for --filter.');
      return await cancelOne(context, id, command);
    });
}

async function cancelOne(context: CommandContext, id: string, command: Command): Promise<void> {
  const { terminal, interrupts } = context;
  const connection = connectCommand(context, command);
  const request_id = await resolveTaskId(connection, id, interrupts.first);
  const receipt = await connection.client
    .cancelTask(request_id, { signal: interrupts.first })
    .catch((error: unknown) => throwCancelError(request_id, error));
  const format = getOutputFormat(command);
  await terminal.print(
    format === 'table' ? `Cancelled task ${cleanText(receipt.request_id)}.\n` : renderJson(receipt, format),
  );
}

function throwCancelError(request_id: string, error: unknown): never {
  if (!(error instanceof BadRequestError) || error.code !== 'task_terminal') throw error;
  throw new CommandError(
    EXIT_CODES.other,
    `Task ${request_id} has already succeeded or failed, so it can't be cancelled. Show it with "task-gateway task get ${request_id}".`,
  );
}

async function cancelMatching(
  context: CommandContext,
  { filter = {}, dryRun = false }: CancelOptions,
  command: Command,
): Promise<void> {
  const { terminal, interrupts } = context;
  const connection = connectCommand(context, command, true);
  const receipt = await callAsAdmin(connection, () =>
    cancelInSteps(connection.client, filter, dryRun, interrupts.first),
  );
  const format = getOutputFormat(command);
  await terminal.print(
    format === 'table'
      ? describeReceipt(receipt, dryRun)
      : renderJson({ ...receipt, dry_run: dryRun }, format),
  );
}

type Totals = Pick<CancellationReceipt, 'matched' | 'cancelled' | 'already_ended'>;

/** Repeats the call until no task is left, because one call of the gateway looks at only a part of them. */
async function cancelInSteps(
  client: TaskGatewayClient,
  filters: TaskFilters,
  dry_run: boolean,
  signal: AbortSignal,
): Promise<Totals> {
  // The gateway's time: tasks that are submitted from now on are left alone.
  const { time } = await client.listTasks({ limit: 1 }, { signal });
  const created_before = Math.min(time, filters.before ?? time);
  const totals = { matched: 0, cancelled: 0, already_ended: 0 };
  let cursor: string | null = null;
  const pause = createPagePause(signal);
  do {
    const request = { filter: toCancelFilter(filters), created_before, dry_run, cursor };
    const receipt: CancellationReceipt = await client.cancelTasks(request, { signal });
    totals.matched += receipt.matched;
    totals.cancelled += receipt.cancelled;
    totals.already_ended += receipt.already_ended;
    cursor = receipt.next_cursor;
    if (cursor !== null) await pause(receipt.matched);
  } while (cursor !== null);
  return totals;
}

function describeReceipt({ cancelled, already_ended }: Totals, isDryRun: boolean): string {
  const tasks = `${cancelled} ${cancelled === 1 ? 'task' : 'tasks'}`;
  if (isDryRun) return `Would cancel ${tasks}.\n`;
  const ended = already_ended === 0 ? '' : ` ${already_ended} had ended already.`;
  return `Cancelled ${tasks}.${ended}\n`;
}
