/** `overview`: shows what is going on at the gateway now, and what is wrong. */
import type { Command } from 'commander';
import type { GatewayOverview, OverviewProblem, TagDemand } from '../../contract.ts';
import { parseCount } from '../arguments/option-values.ts';
import { type CommandContext, connectCommand, getOutputFormat } from '../command-context.ts';
import { callAsAdmin } from '../connection.ts';
import { translateHint } from '../terminal/explanation.ts';
import { renderJson } from '../terminal/output.ts';
import { cleanText } from '../terminal/safe-text.ts';
import { type Column, renderFields, renderTable } from '../terminal/table.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { formatAge } from '../terminal/time.ts';
import { describeFailures, renderFailureGroups } from './task-failures.ts';

const TAGS_DEFAULT = 20;
/** `task failures` shows all groups. */
const GROUPS_SHOWN_MAX = 5;

const EXAMPLES = `
The exit code is 0 also while something is wrong.

Examples:
  $ task-gateway overview
  $ task-gateway overview -o json | jq -r '.problems[].text'`;

export function addOverviewCommand(program: Command, context: CommandContext): void {
  const { terminal, interrupts } = context;
  program
    .command('overview')
    .summary('show what waits, runs and fails, and what is wrong')
    .description(
      'Shows tasks, slots, agents and tags, and what is wrong with what to do about it. Needs the admin secret.',
    )
    .option('--tags <number>', 'show at most this many tags, those in need first', parseCount, TAGS_DEFAULT)
    .addHelpText('after', EXAMPLES)
    .action(async ({ tags }: { tags: number }, command: Command) => {
      const connection = connectCommand(context, command, true);
      const overview = await callAsAdmin(connection, () =>
        connection.client.getOverview({ tags }, { signal: interrupts.first }),
      );
      const format = getOutputFormat(command);
      await terminal.print(
        format === 'table' ? renderOverview(terminal, overview) : renderJson(overview, format),
      );
    });
}

function renderOverview(terminal: Terminal, overview: GatewayOverview): string {
  const { time, tags, tags_total, problems } = overview;
  const paintHead = (text: string): string => terminal.out.paint('bold', text);
  const more = tags_total > tags.length ? `${tags_total - tags.length} more tags: see --tags.\n` : '';
  return [
    renderFields(describeCounts(overview), terminal.out.paint),
    ...problems.map((problem) => renderProblem(terminal, problem)),
    renderFailures(terminal, overview),
    tags.length === 0
      ? ''
      : `\n${renderTable(listTagColumns(time), tags, { widthMax: terminal.out.columns, paintHead })}${more}`,
  ].join('');
}

function describeCounts(overview: GatewayOverview): readonly (readonly [string, string])[] {
  const { time, version, store, tasks, slots, agents, ended, failures, median_seconds, window } = overview;
  const { total, ...states } = agents;
  const condition = store.ok ? '' : `: out since ${formatAge(time - store.since)}`;
  const unusable = slots.unusable > 0 ? `, ${slots.unusable} of these unusable` : '';
  const { waiting_for_answer: asking } = tasks;
  const answers = asking > 0 ? `, ${asking} of these ${asking === 1 ? 'waits' : 'wait'} for an answer` : '';
  const median = median_seconds === null ? '' : `; half within ${median_seconds} s`;
  return [
    ['Gateway', `contract ${version}, store ${store.kind}${condition}`],
    ['Tasks', `${tasks.waiting} waiting, ${tasks.running} running${answers}`],
    ['Slots', `${slots.used} used, ${slots.free} free${unusable}`],
    ['Agents', `${total}: ${listCounts(states) || 'none'}`],
    [`Last ${Math.round(window / 60)} min`, `${listCounts(ended) || 'no task ended'}${median}`],
    ...(failures.failed > 0 ? [['Failures', describeFailures(failures, time, window)] as const] : []),
  ];
}

/** Lists each count that is not 0, with its name. */
function listCounts(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${count} ${name.replace('_', ' ')}`)
    .join(', ');
}

/** Renders the causes of most failures. */
function renderFailures(terminal: Terminal, { failures, time }: GatewayOverview): string {
  const { groups, groups_total } = failures;
  if (groups.length === 0) return '';
  const shown = groups.slice(0, GROUPS_SHOWN_MAX);
  const more =
    groups_total > shown.length ? `${groups_total - shown.length} more: see "task failures".\n` : '';
  return `\n${renderFailureGroups(terminal, shown, time)}${more}`;
}

function renderProblem({ out }: Terminal, { severity, text, help, request_id }: OverviewProblem): string {
  const label = paintMark(out.paint, severity);
  const remedy = help === null ? '' : `  ${cleanText(translateHint(help, request_id))}\n`;
  return `\n${label} ${cleanText(text)}\n${remedy}`;
}

function paintMark(paint: Terminal['out']['paint'], severity: OverviewProblem['severity']): string {
  if (severity === 'problem') return paint('red', '✗');
  return severity === 'note' ? paint('dim', '·') : paint('yellow', '!');
}

function listTagColumns(time: number): readonly Column<TagDemand>[] {
  return [
    { title: 'TAG', cell: ({ tag }) => tag },
    { title: 'WAITING', cell: ({ waiting }) => String(waiting) },
    {
      title: 'OLDEST',
      cell: ({ oldest_create_time }) =>
        oldest_create_time === null ? '–' : formatAge(time - oldest_create_time),
    },
    { title: 'NO AGENT', cell: ({ no_agent }) => String(no_agent) },
    {
      title: 'SLOTS',
      cell: ({ used, free, unusable, not_taken }) => `${used - not_taken}/${used + free - unusable}`,
    },
    { title: 'AGENTS', cell: ({ agents, eligible }) => `${eligible}/${agents}` },
  ];
}
