/** `agent list`: who is registered, and who would get a task. */
import type { Command } from 'commander';
import type { AgentListing } from '../../contract.ts';
import { callAsAdmin } from '../connection.ts';
import { renderJson } from '../terminal/outcome.ts';
import { type Column, renderTable } from '../terminal/table.ts';
import { connectFor, type Desk, formatFor } from './context.ts';

/** Adds `list` under `agent`. */
export function addAgentList(parent: Command, desk: Desk): void {
  parent
    .command('list')
    .summary('list the agents')
    .description('Lists the registered agents. Needs the administrator’s secret.')
    .addHelpText(
      'after',
      '\nExample:\n  $ task-gateway agent list -o jsonl | jq -r "select(.eligible).agent_id"',
    )
    .action(async (_options: unknown, command: Command) => {
      const connection = connectFor(desk, command);
      const { first: signal } = desk.interrupts;
      const { agents } = await callAsAdmin(connection, () => connection.client.listAgents({ signal }));
      await printAgents(desk, agents, command);
    });
}

async function printAgents(
  { screen }: Desk,
  agents: readonly AgentListing[],
  command: Command,
): Promise<void> {
  const format = formatFor(command);
  if (format === 'json') return screen.print(renderJson(agents, format));
  if (format === 'jsonl') return screen.print(agents.map((agent) => renderJson(agent, format)).join(''));
  if (agents.length === 0) {
    return screen.say(
      'No agent is registered. Start one with "task-gateway agent exec --tag TAG -- COMMAND".',
    );
  }
  const nowSeconds = Date.now() / 1_000;
  const columns: readonly Column<AgentListing>[] = [
    { title: 'AGENT ID', cell: ({ agent_id }) => agent_id },
    {
      title: 'STATE',
      cell: ({ state, full }) => (full ? `${state}, full` : state),
      paint: (text, { eligible }) => screen.out.paint(eligible ? 'green' : 'yellow', text),
    },
    { title: 'LOAD', cell: ({ current_load, max_concurrent }) => `${current_load}/${max_concurrent}` },
    { title: 'TAGS', cell: ({ agent_tags }) => agent_tags.join(',') },
    { title: 'SEEN', cell: ({ last_contact_time }) => describeAge(nowSeconds - last_contact_time) },
    { title: 'ENDPOINT', cell: ({ endpoint }) => endpoint },
    { title: 'LAST PUSH', cell: ({ push }) => push.last_error ?? String(push.last_status ?? '–') },
  ];
  const paintHead = (text: string): string => screen.out.paint('bold', text);
  await screen.print(renderTable(columns, agents, { widthMax: screen.out.columns, paintHead }));
}

/** Seconds gone by, in the unit a person would say. */
export function describeAge(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 120) return `${whole} s ago`;
  if (whole < 7_200) return `${Math.round(whole / 60)} min ago`;
  return `${Math.round(whole / 3_600)} h ago`;
}
