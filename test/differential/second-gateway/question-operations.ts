/** Questions in the second gateway: how a write asks them, and how a client answers and an agent claims. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import { escapeName, listPlaces, toPointer } from './document.ts';
import {
  type Call,
  Refusal,
  type Reply,
  requireOwnTask,
  requireTask,
  sortKeys,
  waitFor,
  waitMs,
} from './request.ts';
import type { Piece, Question, Task } from './state.ts';

const QUESTIONS_MAX = 16;
const FIELDS_MAX = 20;
const NAME_CHARS_MAX = 256;
const JSON_BYTES_MAX = 8_192;

const ajv = new Ajv2020({ strict: false, allErrors: true, ownProperties: true });

const isLong = (value: unknown): boolean => Buffer.byteLength(JSON.stringify(value)) > JSON_BYTES_MAX;
const isSame = (a: unknown, b: unknown): boolean =>
  JSON.stringify(a, sortKeys) === JSON.stringify(b, sortKeys);

/** The questions behind a write, and the answers that some of them have already. */
export function askQuestions(
  before: Task['questions'],
  pieces: readonly Piece[],
  skipped: number,
): { readonly questions: Task['questions']; readonly answers: readonly Piece[] } {
  const questions = new Map(before);
  const answers: Piece[] = [];
  for (const [index, { question }] of pieces.entries()) {
    if (question === undefined) continue;
    const { key, prompt, schema } = question as Question['content'];
    const content = { key, prompt, ...(schema && { schema }) };
    const known = questions.get(key);
    const pointers = [`/pieces/${skipped + index}/question/key`];
    if (known && !isSame(known.content, content)) throw new Refusal('validation_failed', { pointers });
    if (!known || known.isWithdrawn) {
      questions.delete(key);
      const [oldest] = [...questions].find(([, { isWithdrawn }]) => isWithdrawn) ?? [];
      if (questions.size === QUESTIONS_MAX && oldest !== undefined) questions.delete(oldest);
      if (questions.size === QUESTIONS_MAX) throw new Refusal('validation_failed', { pointers });
      questions.set(key, { content, askedMs: Date.now() });
    }
    if (known?.answer) answers.push({ answer: { key, answer: known.answer.value } });
  }
  return { questions, answers };
}

/** Whether a piece asks what waits for its answer already: nothing is stored of it. */
export function isOpenIn(questions: Task['questions'], question: Piece['question']): boolean {
  const known = questions.get((question as Question['content'] | undefined)?.key ?? '');
  return known !== undefined && !known.isWithdrawn && !known.answer;
}

function answerTask(call: Call): Reply {
  const { state, id, body } = call;
  const task = requireTask(call);
  if (state.isOver(task)) throw new Refusal('task_terminal');
  const { key, answer = null } = body as { readonly key: string; readonly answer?: unknown };
  const question = task.questions.get(key);
  const isOther = question?.answer && !isSame(question.answer.value, answer);
  if (!question || question.isWithdrawn || isOther) throw new Refusal('not_asked');
  if (!question.answer) {
    const pointers = findWrongAnswer(question, answer);
    if (pointers.length > 0) throw new Refusal('validation_failed', { pointers });
    task.questions = new Map([...task.questions, [key, { ...question, answer: { value: answer } }]]);
    task.output.pieces.push({ answer: { key, answer } });
    state.wake();
  }
  return { ok: true, request_id: id, key };
}

function findWrongAnswer({ content: { schema } }: Question, answer: unknown): readonly string[] {
  if (isLong(answer)) return ['/answer'];
  if (schema === undefined) return [];
  const isRight = ajv.compile({ properties: { answer: { ...schema, additionalProperties: false } } });
  return isRight({ answer }) ? [] : listPlaces((isRight.errors ?? []).map(toPointer));
}

async function claimAnswer(call: Call): Promise<Reply> {
  const { state, body } = call;
  const key = String(body.key);
  const find = (): Question => {
    const task = requireOwnTask(call);
    if (state.isOver(task)) throw new Refusal('task_terminal');
    const question = task.questions.get(key);
    if (!question || question.isWithdrawn) throw new Refusal('not_asked');
    return question;
  };
  const isDecided = (): boolean => {
    try {
      return find().answer !== undefined;
    } catch {
      return true;
    }
  };
  await waitFor(state, waitMs(body.wait), isDecided);
  const { answer } = find();
  return answer ? { key, answer: answer.value } : null;
}

type Field = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is Field =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** What is wrong with the schema of a question, if its shape is right. */
export function findWrongSchema(schema: unknown): readonly string[] {
  if (!isObject(schema) || !isObject(schema.properties)) return [];
  const { properties, required } = schema;
  const names = Object.keys(properties);
  const isWrongName = (name: string): boolean => name === '' || [...name].length > NAME_CHARS_MAX;
  const fields = Object.entries(properties).flatMap(([name, field]) => {
    if (isWrongName(name) || !isObject(field)) return [];
    return findWrongField(field).map((one) => `/properties/${escapeName(name)}${one}`);
  });
  const unknown = (Array.isArray(required) ? required : []).flatMap((name, index) =>
    typeof name !== 'string' || names.includes(name) ? [] : [`/required/${index}`],
  );
  return [
    ...(isLong(schema) ? [''] : []),
    ...(names.length > FIELDS_MAX || names.some(isWrongName) ? ['/properties'] : []),
    ...fields,
    ...unknown,
  ];
}

function findWrongField(field: Field): readonly string[] {
  const { type, minLength, maxLength, minimum, maximum } = field;
  const own: Readonly<Record<string, readonly string[]>> = {
    string: ['enum', 'minLength', 'maxLength'],
    number: ['minimum', 'maximum'],
    integer: ['minimum', 'maximum'],
  };
  const foreign = [...new Set(Object.values(own).flat())].filter((one) => !own[String(type)]?.includes(one));
  const wrong = [
    ...foreign.filter((one) => Object.hasOwn(field, one)),
    ...(Number(maxLength) < Number(minLength) ? ['maxLength'] : []),
    ...(Number(maximum) < Number(minimum) ? ['maximum'] : []),
  ].map((one) => `/${one}`);
  if (wrong.length > 0 || !Object.hasOwn(field, 'default')) return wrong;
  return isDefaultRight(field) ? [] : ['/default'];
}

function isDefaultRight({ default: value, ...field }: Field): boolean {
  try {
    return ajv.validate(field, value);
  } catch {
    // The field itself is wrong.
    return true;
  }
}

/** By their names. */
export const QUESTION_OPERATIONS = { answerTask, claimAnswer };
