/** The output of tasks in the second gateway: all pieces of a task in one array. */
import { askQuestions, isOpenIn } from './question-operations.ts';
import { type Call, Refusal, type Reply, requireOwnTask, requireTask, waitFor, waitMs } from './request.ts';
import { type Piece, type Task, withdrawOpen } from './state.ts';
import { outcomeOf } from './task-operations.ts';

const BODY_BYTES_MAX = 65_536;
const PIECES_OF_PAGE = 1_000;

function writeOutput(call: Call): Reply {
  const { state, body } = call;
  const { request_id, agent_id, writer, from, pieces } = body as {
    readonly [name in 'request_id' | 'agent_id' | 'writer']: string;
  } & { readonly from: number; readonly pieces: readonly Piece[] };
  if (Buffer.byteLength(JSON.stringify(body)) > BODY_BYTES_MAX) throw new Refusal('payload_too_large');
  const task = requireOwnTask(call);
  const answer = { ok: true, request_id, status: task.info.status };
  if (state.isOver(task)) return { ...answer, accepted: false, next: from };
  const { output } = task;
  const name = `${agent_id} ${writer}`;
  const isKnown = output.writer === name;
  const stored = isKnown ? output.next : 0;
  if (from > stored || (!isKnown && output.replaced.includes(name)))
    throw new Refusal('validation_failed', { pointers: ['/from'] });
  const skipped = stored - from;
  const news = pieces.slice(skipped);
  const before = isKnown ? task.questions : withdrawOpen(task);
  const { questions, answers } = askQuestions(before, news, skipped);
  if (!isKnown && output.pieces.length > 0) output.pieces.push({ reset: true, agent_id });
  if (!isKnown) output.replaced = [output.writer, ...output.replaced].slice(0, 10);
  Object.assign(output, { writer: name, next: stored + news.length });
  const stays = ({ question }: Piece): boolean => !isOpenIn(before, question);
  output.pieces.push(...news.filter(stays).map(toStored), ...answers);
  Object.assign(task, { questions, isTaken: true });
  state.wake();
  return { ...answer, accepted: true, next: output.next };
}

/** A piece without what the document does not declare. */
function toStored({ text, data, question }: Piece): Piece {
  if (question === undefined) return text === undefined ? { data } : { text };
  const { key, prompt, schema } = question as Piece;
  return { question: { key, prompt, ...(schema !== undefined && { schema }) } };
}

async function readOutput(call: Call): Promise<Reply> {
  const { state, query, header } = call;
  const task = requireTask(call);
  const asked = Number(query.get('after') ?? 0);
  if (/text\/event-stream/.test(header('accept') ?? '')) {
    const id = header('last-event-id') || String(asked);
    return follow(call, task, /^\d+$/.test(id) ? Number(id) : 0);
  }
  const { pieces } = task.output;
  const isThere = (): boolean => state.isOver(task) || pieces.length > asked;
  await waitFor(state, waitMs(query.get('wait')), isThere);
  const isEnd = state.isOver(task) && asked === pieces.length + 1;
  const after = isEnd ? pieces.length : asked > pieces.length ? 0 : asked;
  const page = number(pieces).slice(after, after + PIECES_OF_PAGE);
  const last = after + page.length;
  const { request_id, status, progress } = task.info;
  const outcome = state.isOver(task) ? outcomeOf(task) : null;
  const complete = state.isOver(task) && last === pieces.length;
  return { request_id, status, progress, outcome, pieces: page, last, complete, missing: null };
}

function number(pieces: readonly Piece[]): readonly Piece[] {
  return pieces.map((piece, index) => ({ n: index + 1, ...piece }));
}

function follow({ state, res }: Call, task: Task, asked: number): Reply {
  const { pieces } = task.output;
  if (state.isOver(task) && asked === pieces.length + 1) return null;
  res.writeHead(200, {
    'content-type': 'text/event-stream',
    'cache-control': 'no-store, no-transform',
    'x-accel-buffering': 'no',
  });
  res.write('retry: 2000\n\n: ready\n\n');
  let sent = asked > pieces.length ? 0 : asked;
  let shown = '';
  const show = (): void => {
    const { status, progress } = task.info;
    const now = JSON.stringify({ status, progress });
    if (!state.isOver(task) && now !== shown) res.write(`data: ${now}\n\n`);
    shown = now;
  };
  const send = (): void => {
    for (const piece of number(pieces).slice(sent)) {
      res.write(`id: ${piece.n}\ndata: ${JSON.stringify(piece)}\n\n`);
    }
    sent = pieces.length;
    if (!state.isOver(task)) {
      show();
      return;
    }
    const n = sent + 1;
    const { status } = task.info;
    const end = JSON.stringify({ n, end: true, status, outcome: outcomeOf(task), missing: null });
    state.listeners.delete(send);
    res.end(`id: ${n}\ndata: ${end}\n\n`);
  };
  state.listeners.add(send);
  res.once('close', () => state.listeners.delete(send));
  show();
  send();
  return undefined;
}

/** By their names. */
export const OUTPUT_OPERATIONS = { writeOutput, readOutput };
