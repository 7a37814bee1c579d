/** `task failures`: the tasks that failed lately, by type, agent and error; `overview` has the same rows. */
import type { Command } from 'commander';
import type { FailureGroup, RecentFailures } from '../../contract.ts';
import { shortenId } from '../arguments/task-ids.ts';
import { type CommandContext, connectCommand, getOutputFormat } from '../command-context.ts';
import { callAsAdmin } from '../connection.ts';
import { renderJson } from '../terminal/output.ts';
import { cleanText } from '../terminal/safe-text.ts';
import { type Column, renderTable } from '../terminal/table.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { formatAge } from '../terminal/time.ts';

type Options = { readonly type?: string; readonly agent?: string };

const EXAMPLES = `
Errors that differ in numbers and ids alone are one; each row has the last one. "3 of 12" means: of 12 tasks of this type that
ended at this agent, 3 failed so. It looks back 15 minutes, or at the last 500 tasks that ended. The exit code is 0 also if tasks
failed. With -o json it prints \`failures\` of the overview, with -o jsonl a row per line.

Examples:
  $ task-gateway task failures
  $ task-gateway task failures --agent gpu-1 -o jsonl | jq -r .request_id
  $ task-gateway task list --outcome failed,timeout,agent_lost --ended-after 15m --error 'timed out after 12000 ms'`;

export function addTaskFailures(parent: Command, context: CommandContext): void {
  const { terminal, interrupts } = context;
  parent
    .command('failures')
    .summary('show which agents fail at which tasks, and why')
    .description('Shows the tasks that failed lately by type, agent and error. Needs the admin secret.')
    .option('--type <type>', 'only tasks of this type')
    .option('--agent <id>', 'only tasks of this agent')
    .addHelpText('after', EXAMPLES)
    .action(async ({ type, agent }: Options, command: Command) => {
      const connection = connectCommand(context, command, true);
      const { failures, time, window } = await callAsAdmin(connection, () =>
        connection.client.getOverview({ tags: 1 }, { signal: interrupts.first }),
      );
      const groups = failures.groups.filter(
        ({ task_type, agent_id }) =>
          (type === undefined || task_type === type) && (agent === undefined || agent_id === agent),
      );
      const format = getOutputFormat(command);
      if (format === 'json') return await terminal.print(renderJson({ ...failures, groups }, format));
      if (format === 'jsonl') {
        return await terminal.print(groups.map((group) => renderJson(group, format)).join(''));
      }
      const more = failures.groups_total - failures.groups.length;
      const counts = describeFailures(failures, time, window);
      await terminal.print(
        [
          `${counts.charAt(0).toUpperCase()}${counts.slice(1)}.\n`,
          groups.length === 0 ? '' : `\n${renderFailureGroups(terminal, groups, time)}`,
          more > 0 ? `${more} more groups of few tasks are not shown.\n` : '',
        ].join(''),
      );
    });
}

/** Returns `9 of 18 tasks failed in the last 15 min`, by the overview's `time` and `window`, in seconds. */
export function describeFailures(
  { failed, ended, since }: RecentFailures,
  time: number,
  window: number,
): string {
  const span =
    since === null
      ? `in the last ${Math.round(window / 60)} min`
      : `of the last 500 that ended (${formatAge(time - since)} or later)`;
  return failed === 0 ? `no task failed ${span}` : `${failed} of ${ended} failed ${span}`;
}

/** Renders the groups, one row each. A narrow terminal gets only the ends of ids. */
export function renderFailureGroups(
  { out }: Terminal,
  groups: readonly FailureGroup[],
  time: number,
): string {
  const { columns: widthMax, paint } = out;
  const showId = widthMax === undefined ? (id: string) => id : shortenId;
  const columns: readonly Column<FailureGroup>[] = [
    { title: 'FAILED', cell: ({ count, ended }) => `${count} of ${ended}`, whole: true },
    { title: 'TYPE', cell: ({ task_type }) => task_type },
    { title: 'AGENT', cell: ({ agent_id }) => agent_id ?? '–' },
    { title: 'OUTCOME', cell: ({ outcome }) => outcome },
    { title: 'FIRST', cell: ({ first_time }) => formatAge(time - first_time), whole: true },
    { title: 'LAST', cell: ({ last_time }) => formatAge(time - last_time), whole: true },
    { title: 'ONE TASK', cell: ({ request_id }) => showId(request_id), whole: true },
    { title: 'ERROR', cell: ({ error }) => cleanText(error ?? '') },
  ];
  return renderTable(columns, groups, { widthMax, paintHead: (text) => paint('bold', text) });
}
