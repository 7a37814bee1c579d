/** `agent list`: lists the registered agents, or those that match, and says which of them can take a task. */
import { type Command, Option } from 'commander';
import type { AgentQuery } from '../../admin-calls.ts';
import type { TaskGatewayClient } from '../../client.ts';
import type { AgentPage, ListedAgent } from '../../contract.ts';
import { parseCount } from '../arguments/option-values.ts';
import { createPagePause } from '../arguments/pages.ts';
import { type CommandContext, connectCommand, getOutputFormat } from '../command-context.ts';
import { callAsAdmin } from '../connection.ts';
import { renderJson } from '../terminal/output.ts';
import { describeValue } from '../terminal/safe-text.ts';
import { type Column, renderTable } from '../terminal/table.ts';
import { formatAge } from '../terminal/time.ts';

const EXAMPLES = `
In the table, the state of an agent is green if the agent can take a task. Agents match if they match all filters. They
are listed by id; with a limit those come first that fail, are offline, full or draining.

Examples:
  $ task-gateway agent list --tag gpu --failing
  $ task-gateway agent list -n 20
  $ task-gateway agent list -o jsonl | jq -r "select(.eligible).agent_id"`;

const STATES = ['ready', 'processing', 'draining', 'offline'] as const;
const PAGE_MAX = 200;

type ListOptions = Omit<AgentQuery, 'cursor'>;

export function addAgentList(parent: Command, context: CommandContext): void {
  parent
    .command('list')
    .summary('list the agents')
    .description('Lists the registered agents. Needs the admin secret.')
    .addOption(new Option('--state <state>', 'only agents in this state').choices(STATES))
    .option('--tag <tag>', 'only agents with this tag')
    .option('--full', 'only agents at full load')
    .option('--failing', 'only agents that do not take their pushes')
    .option('--id <text>', 'only agents with this in their id, in upper or lower case')
    .option('-n, --limit <number>', 'list at most this many agents, those in trouble first', parseCount)
    .addHelpText('after', EXAMPLES)
    .action(async (options: ListOptions, command: Command) => {
      const connection = connectCommand(context, command, true);
      const { first: signal } = context.interrupts;
      const agents = await callAsAdmin(connection, () => readAgents(connection.client, options, signal));
      const isPlain = Object.keys(options).length === 0;
      await printAgents(context, agents, isPlain, command);
    });
}

/** Reads all agents in one call; with a limit page by page, until there are enough or no more pages. */
async function readAgents(
  client: Pick<TaskGatewayClient, 'listAgents'>,
  { limit, ...filters }: ListOptions,
  signal: AbortSignal,
): Promise<readonly ListedAgent[]> {
  if (limit === undefined) return (await client.listAgents(filters, { signal })).agents;
  const agents: ListedAgent[] = [];
  let cursor: string | null = null;
  const pause = createPagePause(signal);
  do {
    const query = { ...filters, limit: Math.min(limit - agents.length, PAGE_MAX) };
    const page: AgentPage = await client.listAgents(
      { ...query, ...(cursor !== null && { cursor }) },
      { signal },
    );
    agents.push(...page.agents);
    cursor = page.next_cursor;
    if (cursor !== null) await pause(page.agents.length);
  } while (cursor !== null && agents.length < limit);
  return agents;
}

async function printAgents(
  { terminal }: CommandContext,
  agents: readonly ListedAgent[],
  isPlain: boolean,
  command: Command,
): Promise<void> {
  const format = getOutputFormat(command);
  if (format === 'json') return terminal.print(renderJson(agents, format));
  if (format === 'jsonl') return terminal.print(agents.map((agent) => renderJson(agent, format)).join(''));
  if (agents.length === 0) {
    return terminal.log(
      isPlain
        ? 'No agent is registered. Start one with "task-gateway agent exec --tag TAG -- COMMAND".'
        : 'No agent matches.',
    );
  }
  const nowSeconds = Date.now() / 1_000;
  const columns: readonly Column<ListedAgent>[] = [
    { title: 'AGENT ID', cell: ({ agent_id }) => agent_id },
    {
      title: 'STATE',
      cell: (agent) => describeState(agent),
      paint: (text, { eligible, failing }) =>
        terminal.out.paint(eligible && !failing ? 'green' : 'yellow', text),
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

/** Returns the state, and what else keeps the agent from tasks. `drained` names the administrator's drain. */
export function describeState(
  { state, drained_by_operator, full, failing }: ListedAgent,
  drained = 'drained',
): string {
  const word = drained_by_operator && state === 'draining' ? drained : state;
  return [word, ...(full ? ['full'] : []), ...(failing ? ['pushes fail'] : [])].join(', ');
}
