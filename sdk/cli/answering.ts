/** Asks a person at the terminal for the fields of an answer, a line for each. */
import { createInterface } from 'node:readline';
import type { AnswerField, Question } from '../contract.ts';
import { readField } from './arguments/answer.ts';
import type { CommandContext, Stdin } from './command-context.ts';
import type { Terminal } from './terminal/terminal.ts';

/** Whether a person can be asked: standard input and standard error are a terminal. */
export function canAsk({ stdin, terminal }: Pick<CommandContext, 'stdin' | 'terminal'>): boolean {
  return stdin.isTTY === true && terminal.err.isTty;
}

/**
 * Asks until each field is right. Resolves to undefined when the signal fires, and when the person ends the
 * input (Ctrl-D); the question then stays open.
 */
export async function askPerson(
  { terminal, stdin }: Pick<CommandContext, 'stdin' | 'terminal'>,
  { schema }: Question,
  signal: AbortSignal,
): Promise<unknown> {
  if (signal.aborted) return undefined;
  if (!schema) {
    terminal.log('Type the answer:');
    return await readLine(stdin, signal);
  }
  const answer = new Map<string, unknown>();
  for (const [name, field] of Object.entries(schema.properties)) {
    const isRequired = schema.required?.includes(name) === true;
    const read = await askField({ terminal, stdin }, name, { ...field, isRequired }, signal);
    if (!read) return undefined;
    if (read.value !== undefined) answer.set(name, read.value);
  }
  return Object.fromEntries(answer);
}

/** Asks for one field. Its value is undefined if the person left it out. */
async function askField(
  { terminal, stdin }: { readonly terminal: Terminal; readonly stdin: Stdin },
  name: string,
  field: AnswerField & { readonly isRequired: boolean },
  signal: AbortSignal,
): Promise<{ readonly value: unknown } | undefined> {
  if (field.description) terminal.log(field.description);
  const what = [...describeField(field)].join(', ');
  for (;;) {
    terminal.log(`${field.title ?? name}${what && ` (${what})`}:`);
    const line = await readLine(stdin, signal);
    if (line === undefined) return undefined;
    if (line === '' && field.default !== undefined) return { value: field.default };
    if (line === '' && !field.isRequired) return { value: undefined };
    const read = readField(field, line);
    if ('value' in read) return read;
    terminal.log(`That does not do: ${read.fault}.`);
  }
}

function* describeField(field: AnswerField & { readonly isRequired: boolean }): Generator<string> {
  const { type, minimum, maximum } = field;
  if (field.enum) yield `one of ${field.enum.join(', ')}`;
  else if (type === 'boolean') yield 'yes or no';
  else if (type !== 'string') yield type === 'integer' ? 'a whole number' : 'a number';
  if (minimum !== undefined) yield `${minimum} or more`;
  if (maximum !== undefined) yield `${maximum} or less`;
  if (field.default !== undefined) yield `empty: ${field.default}`;
  else if (!field.isRequired) yield 'may stay empty';
}

/** Reads a line; undefined at the end of the input, or when the signal fires. */
async function readLine(stdin: Stdin, signal: AbortSignal): Promise<string | undefined> {
  if (signal.aborted) return undefined;
  // The input of a terminal is a stream. Its driver edits the line, so that Ctrl-C still ends the command.
  const lines = createInterface({ input: stdin as Stdin & NodeJS.ReadableStream, terminal: false });
  const close = (): void => lines.close();
  signal.addEventListener('abort', close);
  try {
    return await new Promise<string | undefined>((resolve) => {
      lines.once('line', resolve);
      lines.once('close', () => resolve(undefined));
    });
  } finally {
    signal.removeEventListener('abort', close);
    lines.close();
  }
}
