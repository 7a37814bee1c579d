/** The outputs that the kit plays, each once in a run: what an agent wrote, and what readers got. */
import { giveTask } from './awaited-tasks.ts';
import { type Fields, isFields, requireEqual, requireThat } from './findings.ts';
import type { Agent, Kit } from './kit.ts';
import { type Answer, type EventStream, requireObject, requireProblem } from './subject.ts';

/** A task and the agent that has it. */
export type Work = { readonly agent: Agent; readonly request_id: unknown };

const STREAM = { accept: 'text/event-stream' };
/** How many bytes text and data in a task's output may count. */
const OUTPUT_BYTES = 7 * 2 ** 19;
/** How many bytes each piece counts beside its JSON. */
const PIECE_BYTES = 64;
/** How many bytes the largest piece of a full output counts; it fits into the body of one write. */
const LARGE_BYTES = 60 * 2 ** 10;

export const outputPath = (request_id: unknown): string => `/api/cli/tasks/${request_id}/output`;

/** Gives a task to a new agent. */
export async function beginWork(kit: Kit, more: Fields = {}): Promise<Work> {
  const agent = await kit.startAgent({ endpoint: 'pull' });
  return { agent, request_id: await giveTask(kit, agent, more) };
}

/** Writes pieces; returns the response, whatever it is. */
export function write(
  kit: Kit,
  { agent, request_id }: { readonly agent: Pick<Agent, 'agent_id'>; readonly request_id: unknown },
  writer: string,
  from: number,
  pieces: readonly Fields[],
): Promise<Answer> {
  return kit.callAs(agent, 'output', { request_id, writer, from, pieces });
}

/** Reads a page. */
export async function readPage(
  kit: Kit,
  request_id: unknown,
  query: Readonly<Record<string, string>> = {},
): Promise<Fields> {
  const path = outputPath(request_id);
  return requireObject(await kit.subject.call('GET', path, { query: { auth: kit.auth, ...query } }));
}

/** Returns the pieces of a page. */
export function piecesOf({ pieces }: Fields): readonly Fields[] {
  return Array.isArray(pieces) ? pieces.filter(isFields) : [];
}

/** Opens the stream of an output, which may have any status. */
export function openOutput(
  kit: Kit,
  request_id: unknown,
  headers: Readonly<Record<string, string>> = {},
  query: Readonly<Record<string, string>> = {},
): Promise<EventStream> {
  const path = outputPath(request_id);
  return kit.subject.openStream({ auth: kit.auth, ...query }, { ...STREAM, ...headers }, path);
}

/** Returns the frames of a stream, as JSON. */
export function framesOf({ status, events }: EventStream): readonly Fields[] {
  requireThat(status === 200, `GET of an output: ${status}; must be 200.`);
  return events.map(({ data }) => JSON.parse(data));
}

/** Returns the frames of a stream, once the gateway has ended it. */
export function framesToEnd(kit: Kit, stream: EventStream): Promise<readonly Fields[]> {
  return kit.until('the stream of an output ends', () => (stream.isOpen() ? undefined : framesOf(stream)));
}

/** Requires that a write is refused because its `from` is above this number. */
export function requireGap(answer: Answer, stored: number, when: string): void {
  requireProblem(answer, 422, 'validation_failed', when);
  const { errors } = isFields(answer.json) ? answer.json : {};
  const [error] = Array.isArray(errors) ? errors.filter(isFields) : [];
  requireEqual(error?.pointer, '/from', `\`pointer\` ${when}`);
  requireThat(
    RegExp(`\\b${stored}\\b`).test(String(error?.detail)),
    `\`detail\` ${when} is "${error?.detail}", and must have the number ${stored}.`,
  );
}

/** Plays the output of an ended task with two writers, the second of which replaced the first. */
export async function rewritten(kit: Kit) {
  const work = await beginWork(kit);
  const { agent, request_id } = work;
  const [first, second] = [kit.name('first'), kit.name('second')];
  const written = [
    await write(kit, work, first, 0, [{ text: '你好\n' }, { data: { page: 1 } }]),
    await write(kit, work, second, 0, [{ text: 'again' }]),
    await write(kit, work, second, 1, [{ data: null }]),
  ];
  const replaced = [
    await write(kit, work, first, 2, [{ text: 'late' }]),
    await write(kit, work, first, 0, [{ text: '你好\n' }]),
  ];
  const openPage = await readPage(kit, request_id);
  requireObject(await kit.report(agent, request_id, { result: { output: 'done' } }));
  const late = await write(kit, work, second, 2, [{ text: 'late' }]);
  const page = await readPage(kit, request_id);
  const stream = await openOutput(kit, request_id);
  const frames = await framesToEnd(kit, stream);
  return { agent, request_id, written, replaced, openPage, late, page, stream, frames };
}

/** Plays a write, its repeat, one that repeats its last piece, and one that leaves out pieces. */
export async function repeated(kit: Kit) {
  const work = await beginWork(kit);
  const writer = kit.name('writer');
  const [a, b, c] = [{ text: 'a' }, { text: 'b' }, { text: 'c' }] as const;
  const written = [
    await write(kit, work, writer, 0, [a, b]),
    await write(kit, work, writer, 0, [a, b]),
    await write(kit, work, writer, 1, [b, c]),
  ];
  const tooFar = await write(kit, work, writer, 5, [{ text: 'lost' }]);
  const page = await readPage(kit, work.request_id);
  return { written, tooFar, texts: piecesOf(page).map(({ text }) => text) };
}

/** Plays an output as large as allowed, one piece more, and the end of its task. */
export async function filled(kit: Kit) {
  const work = await beginWork(kit, { timeout: 3_600 });
  const writer = kit.name('writer');
  const empty = JSON.stringify({ text: '' }).length + PIECE_BYTES;
  const receipts: Fields[] = [];
  for (let left = OUTPUT_BYTES; left > 0; left -= LARGE_BYTES) {
    const text = 'x'.repeat(Math.min(left, LARGE_BYTES) - empty);
    receipts.push(requireObject(await write(kit, work, writer, receipts.length, [{ text }])));
  }
  const more = await write(kit, work, writer, receipts.length, [{ text: 'x' }]);
  const page = await readPage(kit, work.request_id, { after: String(receipts.length - 1) });
  const question = { question: { key: 'deploy', prompt: '部署吗？' } };
  const from = receipts.length;
  const mixed = requireObject(await write(kit, work, writer, from, [{ text: 'x' }, question]));
  const alone = requireObject(await write(kit, work, writer, from, [question]));
  requireObject(await kit.report(work.agent, work.request_id, { result: { output: 'done' } }));
  return { receipts, more: requireObject(more), page, mixed, alone, done: await kit.get(work.request_id) };
}
