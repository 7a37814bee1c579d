/** `task answer`: sends the answer to a question that a task's agent has asked. */
import type { Command } from 'commander';
import type { TaskGatewayClient } from '../../client.ts';
import type { Question } from '../../contract.ts';
import { askPerson, canAsk } from '../answering.ts';
import { describeCommand, readAnswer, readJsonAnswer } from '../arguments/answer.ts';
import { resolveTaskId } from '../arguments/task-ids.ts';
import { type CommandContext, connectCommand, getOutputFormat } from '../command-context.ts';
import { CommandError, createUsageError, EXIT_CODES } from '../exit-codes.ts';
import { renderJson } from '../terminal/output.ts';
import { cleanText } from '../terminal/safe-text.ts';

type AnswerOptions = { readonly json?: string };

const EXAMPLES = `
A value is read as the question says: "approve=yes" is true where it wants a yes or no, "count=3" a number where it wants
one, and else a text; key:=json is JSON. On a terminal without values it asks for them. "task output" and "task explain" show
the questions. The first answer counts; the same one again is a success. Exit codes: 0 answered, 2 the question does not take
the answer, 1 it was answered otherwise or is not open, 7 no such task.

Examples:
  $ task-gateway task answer "$id" deploy approve=yes
  $ task-gateway task answer "$id" deploy --json '{"approve":true}'`;

export function addTaskAnswer(parent: Command, context: CommandContext): void {
  parent
    .command('answer')
    .summary('answer a question of a task')
    .description('Answers a question that the agent of a task has asked, so that it goes on.')
    .argument('<request_id>', 'id of the task')
    .argument('<key>', 'key of the question')
    .argument('[values...]', 'key=value, or key:=json')
    .option('--json <json>', 'the whole answer as JSON, instead of values')
    .addHelpText('after', EXAMPLES)
    .action((id: string, key: string, values: string[], options: AnswerOptions, command: Command) =>
      answerQuestion(context, { id, key, values, json: options.json }, command),
    );
}

type Given = {
  readonly id: string;
  readonly key: string;
  readonly values: readonly string[];
  readonly json: string | undefined;
};

async function answerQuestion(
  context: CommandContext,
  { id, key, values, json }: Given,
  command: Command,
): Promise<void> {
  if (json !== undefined && values.length > 0) throw createUsageError('Give values or --json, not both.');
  const { terminal, interrupts } = context;
  const signal = interrupts.first;
  const connection = connectCommand(context, command);
  const whole = json === undefined ? undefined : { answer: readJsonAnswer(json) };
  const request_id = await resolveTaskId(connection, id, signal);
  const { client } = connection;
  const answer = whole
    ? whole.answer
    : await readValues(context, await findQuestion(client, request_id, key, signal), request_id, values);
  const receipt = await client.answerTask(request_id, { key, answer }, { signal });
  const format = getOutputFormat(command);
  await terminal.print(
    format === 'table'
      ? `Answered "${cleanText(receipt.key)}" of task ${cleanText(receipt.request_id)}.\n`
      : renderJson(receipt, format),
  );
}

/** Returns the answer made of the given values; without any, that of the person at the terminal. */
async function readValues(
  context: CommandContext,
  question: Question,
  request_id: string,
  values: readonly string[],
): Promise<unknown> {
  if (values.length > 0) return readAnswer(values, question.schema);
  if (!canAsk(context)) {
    throw createUsageError(`Give the answer: ${describeCommand(request_id, question)}`);
  }
  const { terminal, interrupts } = context;
  terminal.logLines(question.prompt);
  const answer = await askPerson(context, question, interrupts.first);
  if (answer !== undefined) return answer;
  const exitCode = interrupts.first.aborted ? interrupts.exitCode() : EXIT_CODES.usage;
  throw new CommandError(exitCode, 'The question was not answered.');
}

/** Finds a question in the task's output: the last one with this key. */
async function findQuestion(
  client: TaskGatewayClient,
  request_id: string,
  key: string,
  signal: AbortSignal,
): Promise<Question> {
  const questions = new Map<string, Question>();
  for await (const { question } of client.readOutput(request_id, { follow: false, signal })) {
    if (question) questions.set(question.key, question);
  }
  const found = questions.get(key);
  if (found) return found;
  const keys = [...questions.keys()].map((one) => `"${one}"`).join(', ');
  const advice = keys === '' ? 'It has asked nothing.' : `It has asked ${keys}.`;
  throw new CommandError(EXIT_CODES.other, `Task ${request_id} has no question "${key}". ${advice}`);
}
