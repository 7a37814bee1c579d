/** `agent drain`: lets an agent finish what it has and get nothing else, or ends that. */
import type { Command } from 'commander';
import type { AgentDetail } from '../../contract.ts';
import { type CommandContext, connectCommand, getOutputFormat } from '../command-context.ts';
import { callAsAdmin } from '../connection.ts';
import { renderJson } from '../terminal/output.ts';
import { cleanText } from '../terminal/safe-text.ts';

const EXAMPLES = `
A drained agent stays drained when it registers again; it learns of it from the responses to its calls.

Examples:
  $ task-gateway agent drain gpu-1
  $ task-gateway agent drain gpu-1 --undo`;

export function addAgentDrain(parent: Command, context: CommandContext): void {
  parent
    .command('drain')
    .summary('let an agent finish its tasks and get no others')
    .description('Lets an agent finish its tasks and get no others, until --undo. Needs the admin secret.')
    .argument('<agent_id>', 'id of the agent')
    .option('--undo', 'end the drain: the agent gets tasks again')
    .addHelpText('after', EXAMPLES)
    .action(async (agent_id: string, options: { readonly undo?: boolean }, command: Command) => {
      const connection = connectCommand(context, command, true);
      const drain = { draining: options.undo !== true };
      const agent = await callAsAdmin(connection, () =>
        connection.client.drainAgent(agent_id, drain, { signal: context.interrupts.first }),
      );
      const format = getOutputFormat(command);
      await context.terminal.print(format === 'table' ? describeAgent(agent) : renderJson(agent, format));
    });
}

function describeAgent({ agent_id, drained_by_operator, state, running }: AgentDetail): string {
  const name = `Agent ${cleanText(agent_id)}`;
  const tasks = running === 0 ? 'has no task' : `finishes its ${running === 1 ? 'task' : `${running} tasks`}`;
  if (drained_by_operator) return `${name} is drained: it ${tasks} and gets no others.\n`;
  if (state === 'draining') return `${name} is no longer drained, but drains by itself: it gets no tasks.\n`;
  return `${name} is no longer drained.\n`;
}
