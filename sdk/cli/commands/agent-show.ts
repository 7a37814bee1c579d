/** `agent show`: prints one agent, its tasks, and the last pushes to it. */
import type { Command } from 'commander';
import type { AgentDetail } from '../../contract.ts';
import { type CommandContext, connectCommand, getOutputFormat } from '../command-context.ts';
import { callAsAdmin } from '../connection.ts';
import { renderJson } from '../terminal/output.ts';
import { describeValue } from '../terminal/safe-text.ts';
import { type Column, renderFields, renderTable } from '../terminal/table.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { formatAge } from '../terminal/time.ts';
import { describeState } from './agent-list.ts';

const EXAMPLES = `
Pushes are those that the gateway process which responds has sent since its start, the newest first.

Example:
  $ task-gateway agent show gpu-1`;

const REPLACED = ', while another process of this id was there: started again, or running twice';

export function addAgentShow(parent: Command, context: CommandContext): void {
  const { terminal, interrupts } = context;
  parent
    .command('show')
    .summary('show an agent, its tasks and the pushes to it')
    .description('Shows an agent, its tasks and the last pushes to it. Needs the admin secret.')
    .argument('<agent_id>', 'id of the agent')
    .addHelpText('after', EXAMPLES)
    .action(async (agent_id: string, _options: unknown, command: Command) => {
      const connection = connectCommand(context, command, true);
      const agent = await callAsAdmin(connection, () =>
        connection.client.getAgent(agent_id, { signal: interrupts.first }),
      );
      const format = getOutputFormat(command);
      await terminal.print(format === 'table' ? renderAgent(terminal, agent) : renderJson(agent, format));
    });
}

function renderAgent(terminal: Terminal, agent: AgentDetail): string {
  const { time, slots, pushes } = agent;
  const options = { widthMax: terminal.out.columns, paintHead };
  function paintHead(text: string): string {
    return terminal.out.paint('bold', text);
  }
  return [
    renderFields(describeAgent(agent), terminal.out.paint),
    slots.length === 0 ? '' : `\n${renderTable(listTaskColumns(time), slots, options)}`,
    pushes.length === 0 ? '' : `\n${renderTable(listPushColumns(time), pushes, options)}`,
  ].join('');
}

function describeAgent(agent: AgentDetail): readonly (readonly [string, string])[] {
  const { time, max_concurrent, current_load, running, unacknowledged, push } = agent;
  const since = push.failing_since === null ? '' : `, since ${formatAge(time - push.failing_since)}`;
  return [
    ['agent_id', agent.agent_id],
    ['state', describeState(agent, 'drained by the administrator')],
    ['endpoint', agent.endpoint],
    ['tags', agent.agent_tags.join(', ') || '–'],
    ['load', `${current_load} of ${max_concurrent}; ${running} of this gateway`],
    ...(unacknowledged === 0 ? [] : [['not taken', `${unacknowledged} of its tasks`] as const]),
    ['registered', `${formatAge(time - agent.registered_time)}${agent.replaced ? REPLACED : ''}`],
    ['last contact', formatAge(time - agent.last_contact_time)],
    ['last push', describeValue(push.last_error ?? push.last_status ?? '–')],
    ...(push.failures === 0 ? [] : [['failed pushes', `${push.failures} in a row${since}`] as const]),
  ];
}

type AgentTask = AgentDetail['slots'][number];
type Push = AgentDetail['pushes'][number];

function listTaskColumns(time: number): readonly Column<AgentTask>[] {
  return [
    { title: 'TASK', cell: ({ request_id }) => request_id, whole: true },
    { title: 'TYPE', cell: ({ task_type }) => task_type },
    { title: 'TAKEN', cell: ({ acknowledged }) => (acknowledged ? 'yes' : 'not yet') },
    { title: '%', cell: ({ progress }) => String(progress) },
    { title: 'ASSIGNED', cell: ({ assigned_time }) => formatAge(time - assigned_time) },
  ];
}

function listPushColumns(time: number): readonly Column<Push>[] {
  return [
    { title: 'PUSH OF TASK', cell: ({ request_id }) => request_id, whole: true },
    { title: 'SENT', cell: (push) => formatAge(time - push.time) },
    { title: 'OUTCOME', cell: ({ outcome }) => outcome.replace('_', ' ') },
    { title: 'MS', cell: ({ ms }) => String(ms) },
    { title: 'RESPONSE', cell: ({ status, error }) => describeValue(error ?? status ?? '–') },
  ];
}
