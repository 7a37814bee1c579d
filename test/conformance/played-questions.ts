/** The questions that the kit plays, each once in a run: what an agent asked, and how clients answered. */
import type { Fields } from './findings.ts';
import type { Kit } from './kit.ts';
import { beginWork, piecesOf, readPage, type Work, write } from './played-outputs.ts';
import { type Answer, requireObject } from './subject.ts';

/** The question of the scenarios, with a schema. */
export const QUESTION = {
  key: 'go',
  prompt: '继续吗？',
  schema: {
    type: 'object',
    properties: { yes: { type: 'boolean' }, why: { type: 'string' } },
    required: ['yes'],
  },
};
/** The answer to it that counts. */
export const YES = { key: 'go', answer: { yes: true, why: '好' } };

/** The same question and answer, with all keys in reverse order. */
const REVERSED = { question: reverseKeys(QUESTION), answer: reverseKeys(YES.answer) };

function reverseKeys(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const entries = Object.entries(value).reverse();
  return Object.fromEntries(entries.map(([key, inner]) => [key, reverseKeys(inner)]));
}

/** Sends an answer; returns the response, whatever it is. */
export function answer(kit: Kit, request_id: unknown, value: unknown, key = 'go'): Promise<Answer> {
  const path = `/api/cli/tasks/${request_id}/answer`;
  return kit.subject.call('POST', path, { query: { auth: kit.auth }, json: { key, answer: value } });
}

/** Claims an answer; returns the response, whatever it is. */
export function claim(kit: Kit, { agent, request_id }: Work, more: Fields = {}): Promise<Answer> {
  return kit.callAs(agent, 'answer', { request_id, key: 'go', ...more });
}

/** Returns the pieces of a task without their numbers. */
async function contents(kit: Kit, request_id: unknown): Promise<readonly Fields[]> {
  return piecesOf(await readPage(kit, request_id)).map(({ n: _, ...piece }) => piece);
}

/** Plays a question, answered in many ways and asked again by another writer; then the end of its task. */
export async function asked(kit: Kit) {
  const work = await beginWork(kit);
  const { agent, request_id } = work;
  const schema = { type: 'object', properties: { yes: { type: 'string', pattern: '.*' } } };
  const unknownKeyword = await write(kit, work, 'first', 0, [{ question: { ...QUESTION, schema } }]);
  requireObject(await write(kit, work, 'first', 0, [{ question: QUESTION }]));
  const early = await claim(kit, work);
  const open = await kit.get(request_id);
  const answers = {
    unfit: await answer(kit, request_id, { yes: 'yes' }),
    first: await answer(kit, request_id, YES.answer),
    again: await answer(kit, request_id, YES.answer),
    reversed: await answer(kit, request_id, REVERSED.answer),
    other: await answer(kit, request_id, { yes: false }),
  };
  const claimed = await claim(kit, work);
  const pieces = await contents(kit, request_id);
  requireObject(
    await write(kit, work, 'second', 0, [{ question: QUESTION }, { question: { ...QUESTION, key: 'open' } }]),
  );
  const claimedAgain = await claim(kit, work);
  const piecesAgain = await contents(kit, request_id);
  const askedReversed = await write(kit, work, 'second', 2, [{ question: REVERSED.question }]);
  requireObject(await write(kit, work, 'third', 0, [{ text: 'x' }]));
  const withdrawn = await answer(kit, request_id, { yes: true }, 'open');
  const neverAsked = await claim(kit, work, { key: 'never' });
  requireObject(await kit.report(agent, request_id, {}));
  const ended = { answer: await answer(kit, request_id, { yes: true }), claim: await claim(kit, work) };
  const task = await kit.get(request_id);
  return {
    work,
    unknownKeyword,
    early,
    open,
    answers,
    claimed,
    pieces,
    claimedAgain,
    piecesAgain,
    askedReversed,
    withdrawn,
    neverAsked,
    ended,
    task,
  };
}

/** Plays questions, prompts, schemas and answers at their limits, and beyond. */
export async function manyQuestions(kit: Kit) {
  const work = await beginWork(kit);
  const ask = (from: number, question: Fields) =>
    write(kit, work, 'w', from, [{ question: { prompt: '?', ...question } }]);
  const schemaOf = (length: number) => ({
    type: 'object',
    properties: { a: { type: 'string', title: 'x'.repeat(length - EMPTY_SCHEMA_BYTES) } },
  });
  const beyond = await ask(0, { key: '0', prompt: '好'.repeat(2_001) });
  const large = await ask(0, { key: '0', schema: schemaOf(JSON_BYTES + 1) });
  const longest = await ask(0, { key: '0', prompt: '好'.repeat(2_000), schema: schemaOf(JSON_BYTES) });
  const sixteen: Answer[] = [];
  for (let n = 1; n < 16; n += 1) sixteen.push(await ask(n, { key: String(n) }));
  const tooMany = await ask(16, { key: '16' });
  // The JSON of a text has two quotes.
  const tooLong = await answer(kit, work.request_id, 'x'.repeat(JSON_BYTES - 1), '1');
  const long = await answer(kit, work.request_id, 'x'.repeat(JSON_BYTES - 2), '1');
  requireObject(await kit.cancel(work.request_id));
  return {
    taken: [
      { answer: longest, what: 'of a prompt of 2,000 characters and a schema of 8 KiB' },
      ...sixteen.map((one) => ({ answer: one, what: 'of a question up to the 16th' })),
      { answer: long, what: 'of 8 KiB' },
    ],
    refused: [
      { answer: beyond, what: 'of a prompt of 2,001 characters' },
      { answer: large, what: 'of a schema of more than 8 KiB' },
      { answer: tooMany, what: 'of the 17th question' },
      { answer: tooLong, what: 'of more than 8 KiB' },
    ],
  };
}

const JSON_BYTES = 8_192;
const EMPTY_SCHEMA_BYTES = JSON.stringify({
  type: 'object',
  properties: { a: { type: 'string', title: '' } },
}).length;
