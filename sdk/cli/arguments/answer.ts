/** Reads the answer to a question from arguments, each typed by the question's schema, or from lines. */
import type { AnswerField, AnswerSchema, Question } from '../../contract.ts';
import { findChangedNumber } from '../../numbers.ts';
import { parseJson } from '../decoding.ts';
import { createUsageError, messageOf } from '../exit-codes.ts';

/** The value that a text stands for, or a text that says what is wrong with it. */
export type ReadField = { readonly value: unknown } | { readonly fault: string };

const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['yes', true],
  ['y', true],
  ['false', false],
  ['no', false],
  ['n', false],
]);

/** Reads a text as a field of an answer. */
export function readField(field: AnswerField | undefined, text: string): ReadField {
  if (field?.type === 'boolean') {
    const value = BOOLEANS.get(text.trim().toLowerCase());
    return value === undefined ? { fault: 'give yes or no' } : { value };
  }
  if (field?.type === 'number' || field?.type === 'integer') return readNumber(field, text);
  if (field?.enum && !field.enum.includes(text)) return { fault: `give one of ${field.enum.join(', ')}` };
  const chars = [...text].length;
  const { minLength = 0, maxLength = Infinity } = field ?? {};
  if (chars < minLength) return { fault: `give at least ${minLength} characters` };
  if (chars > maxLength) return { fault: `give at most ${maxLength} characters` };
  return { value: text };
}

function readNumber({ type, minimum, maximum }: AnswerField, text: string): ReadField {
  const value = text.trim() === '' ? Number.NaN : Number(text);
  if (!Number.isFinite(value)) return { fault: 'give a number' };
  const changed = findChangedNumber(text);
  if (changed !== undefined) return { fault: `it would arrive as ${Number(changed)}` };
  if (type === 'integer' && !Number.isInteger(value)) return { fault: 'give a whole number' };
  if (minimum !== undefined && value < minimum) return { fault: `give ${minimum} or more` };
  if (maximum !== undefined && value > maximum) return { fault: `give ${maximum} or less` };
  return { value };
}

/** Reads the JSON of `--json`. Throws a usage error. */
export function readJsonAnswer(text: string): unknown {
  return readJson(text, '--json');
}

/**
 * Builds an answer of `key=value`, typed by the schema, and of `key:=json`. Throws usage errors; the gateway
 * checks the rest and says itself what is wrong.
 */
export function readAnswer(
  parts: readonly string[],
  schema: AnswerSchema | undefined,
): Readonly<Record<string, unknown>> {
  const answer = new Map<string, unknown>();
  for (const part of parts) {
    const [, key, operator, text = ''] = /^([^=]*?)(:?=)(.*)$/s.exec(part) ?? [];
    if (!key) throw createUsageError(`"${part}" is not part of an answer: give key=value or key:=json.`);
    if (answer.has(key)) throw createUsageError(`The key "${key}" is given twice.`);
    if (operator === ':=') {
      answer.set(key, readJson(text, `the value of "${key}"`));
      continue;
    }
    const read = readField(schema?.properties[key], text);
    if ('fault' in read) throw createUsageError(`"${key}" can't be "${text}": ${read.fault}.`);
    answer.set(key, read.value);
  }
  return Object.fromEntries(answer);
}

function readJson(text: string, source: string): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    throw createUsageError(`The JSON in ${source} can't be used: ${messageOf(error)}.`);
  }
}

/** Returns the command that answers a question, with the fields that the answer must have. */
export function describeCommand(request_id: string, { key, schema }: Question): string {
  const fields = schema
    ? Object.keys(schema.properties).filter((name) => schema.required?.includes(name))
    : ['--json …'];
  const words = ['task-gateway task answer', request_id, quote(key)];
  return [...words, ...fields.map((name) => (schema ? quote(`${name}=…`) : name))].join(' ');
}

function quote(word: string): string {
  return /^[\p{L}\p{N}_.,:=@…/-]+$/u.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
