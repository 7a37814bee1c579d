/** `agent list`: lists the registered agents, and which of them can take a task. */
import type { Command } from 'commander';
import type { AgentListing } from '../../contract.ts';
import { callAsAdmin } from '../connection.ts';
import { renderJson } from '../terminal/outcome.ts';
import { describeValue } from '../terminal/safe-text.ts';
import { type Column, renderTable } from '../terminal/table.ts';
import { formatAge } from '../terminal/time.ts';
import { type CommandContext, connectCommand, getOutputFormat } from './context.ts';

const EXAMPLES = `
In the table, the state of an agent is green if the agent can take a task.

Example:
  $ task-gateway agent list -o jsonl | jq -r "select(.eligible).agent_id"`;

/** Adds `list` to `agent`. */
export function addAgentList(parent: Command, context: CommandContext): void {
  parent
    .command('list')
    .summary('list the agents')
    .description('Lists the registered agents. Needs the admin secret.')
    .addHelpText('after', EXAMPLES)
    .action(async (_options: unknown, command: Command) => {
      const connection = connectCommand(context, command, true);
      const { first: signal } = context.interrupts;
      const { agents } = await callAsAdmin(connection, () => connection.client.listAgents({ signal }));
      await printAgents(context, agents, command);
    });
}

async function printAgents(
  { terminal }: CommandContext,
  agents: readonly AgentListing[],
  command: Command,
): Promise<void> {
  const format = getOutputFormat(command);
  if (format === 'json') return terminal.print(renderJson(agents, format));
  if (format === 'jsonl') return terminal.print(agents.map((agent) => renderJson(agent, format)).join(''));
  if (agents.length === 0) {
    return terminal.log(
      'No agent is registered. Start one with "task-gateway agent exec --tag TAG -- COMMAND".',
    );
  }
  const nowSeconds = Date.now() / 1_000;
  const columns: readonly Column<AgentListing>[] = [
    { title: 'AGENT ID', cell: ({ agent_id }) => agent_id },
    {
      title: 'STATE',
      cell: ({ state, full }) => (full ? `${state}, full` : state),
      paint: (text, { eligible }) => terminal.out.paint(eligible ? 'green' : 'yellow', text),
    },
    { title: 'LOAD', cell: ({ current_load, max_concurrent }) => `${current_load}/${max_concurrent}` },
    { title: 'TAGS', cell: ({ agent_tags }) => agent_tags.join(',') },
    { title: 'SEEN', cell: ({ last_contact_time }) => formatAge(nowSeconds - last_contact_time) },
    { title: 'ENDPOINT', cell: ({ endpoint }) => endpoint },
    { title: 'LAST PUSH', cell: ({ push }) => describeValue(push.last_error ?? push.last_status ?? '–') },
  ];
  const paintHead = (text: string): string => terminal.out.paint('bold', text);
  await terminal.print(renderTable(columns, agents, { widthMax: terminal.out.columns, paintHead }));
}
