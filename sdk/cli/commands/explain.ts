/** `task explain` and `match`: say why a task does not run, and which agents could take one. */
import type { Command } from 'commander';
import type { TaskGatewayClient } from '../../client.ts';
import type { Task } from '../../contract.ts';
import { TaskGatewayError } from '../../errors.ts';
import { resolveTaskId } from '../arguments/task-ids.ts';
import { type CommandContext, connectCommand, getOutputFormat } from '../command-context.ts';
import { renderExplanation, renderPreview, requireReadable } from '../terminal/explanation.ts';
import { renderJson } from '../terminal/output.ts';

/** How long the error of a failed task waits for its hint. */
const HINT_TIMEOUT_MS = 2_000;

export function addTaskExplain(parent: Command, context: CommandContext): void {
  const { terminal, interrupts } = context;
  parent
    .command('explain')
    .summary('show what happened to a task, and why it has no agent')
    .description(
      'Shows what happened to a task, which agents qualify for it, and what to do if it does not run.',
    )
    .argument('<request_id>', 'id of the task')
    .addHelpText('after', '\nExample:\n  $ task-gateway task explain "$id"')
    .action(async (id: string, _options: unknown, command: Command) => {
      const connection = connectCommand(context, command);
      const signal = interrupts.first;
      const request_id = await resolveTaskId(connection, id, signal);
      const explanation = await connection.client.explainTask(request_id, { signal });
      requireReadable(explanation);
      const format = getOutputFormat(command);
      await terminal.print(
        format === 'table' ? renderExplanation(terminal, explanation) : renderJson(explanation, format),
      );
    });
}

export function addMatchCommand(program: Command, context: CommandContext): void {
  const { terminal, interrupts } = context;
  program
    .command('match')
    .summary('show which agents would take a task with some tags')
    .description(
      'Shows which agents qualify for a task with these tags, and what keeps the others from it. Submits nothing.',
    )
    .argument('<tag...>', 'tags of the task')
    .addHelpText('after', '\nExample:\n  $ task-gateway match gpu zh-en')
    .action(async (task_tags: string[], _options: unknown, command: Command) => {
      const { client } = connectCommand(context, command);
      const preview = await client.previewMatch({ task_tags }, { signal: interrupts.first });
      requireReadable(preview);
      const format = getOutputFormat(command);
      await terminal.print(
        format === 'table'
          ? renderPreview(terminal, preview.match, preview.hint)
          : renderJson(preview, format),
      );
    });
}

/** Returns what to do about a failed task, if the gateway has a hint and sends it in time. */
export async function findHint(
  client: Pick<TaskGatewayClient, 'explainTask'>,
  { request_id, status }: Task,
): Promise<string | null> {
  if (status !== 'failed') return null;
  try {
    const { hint } = await client.explainTask(request_id, { timeoutMs: HINT_TIMEOUT_MS, maxRetries: 0 });
    return hint;
  } catch (error) {
    if (error instanceof TaskGatewayError) return null;
    throw error;
  }
}
