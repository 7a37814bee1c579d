/** The handlers for a task's output: an agent writes it, a client reads or follows it. */
import type { NewQuestion } from '../../domain/question.ts';
import type { Gateway, OutputItem, ReadOutput } from '../../ports/gateway.ts';
import { Problem } from '../problems.ts';
import { renderOutput, renderPiece } from '../stream/event-frames.ts';
import { type Handlers, limitWait, NEVER } from './handlers.ts';

export type OutputLimits = {
  /** How many bytes of output may be written and not durable yet. */
  readonly outputWritingBytesMax: number;
};

export function createOutputHandlers(
  gateway: Gateway,
  { outputWritingBytesMax }: OutputLimits,
): Pick<Handlers, 'writeOutput' | 'readOutput'> {
  let writingBytes = 0;

  async function runWithin<T>(bytes: number, work: () => Promise<T>): Promise<T> {
    if (writingBytes + bytes > outputWritingBytesMax) {
      throw new Problem(
        'busy',
        'Too much output is being stored. Send the request again after `Retry-After`.',
      );
    }
    writingBytes += bytes;
    try {
      return await work();
    } finally {
      writingBytes -= bytes;
    }
  }

  return {
    async writeOutput({ body }) {
      const { agent_id, request_id, writer, from } = body;
      const pieces = body.pieces.map(renderNewPiece);
      const questions = body.pieces.flatMap(({ question }, index) =>
        question === undefined ? [] : [{ ...pickQuestion(question), at: from + index }],
      );
      const bytes = pieces.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0);
      const write = { agent_id, request_id, writer, from, pieces, questions };
      return {
        status: 200,
        body: await runWithin(bytes, () => gateway.writeOutput(write)),
      };
    },

    async readOutput({ path: { request_id }, query, header, signal }) {
      if (!acceptsFrames(header('Accept'))) {
        const waitMs = limitWait(query.wait) * 1_000;
        const left = waitMs > 0 ? signal() : NEVER;
        const found = await gateway.readOutput(request_id, query.after ?? 0, waitMs, left);
        return { status: 200, rendered: renderPage(request_id, found) };
      }
      const after = readLastId(header('Last-Event-ID')) ?? query.after ?? 0;
      const follow = await gateway.followOutput(request_id, after);
      if (!follow) return { status: 204 };
      const of = { kind: 'task', id: request_id } as const;
      return { status: 200, events: { of, open: (left) => renderFrames(follow(left)) } };
    },
  };
}

/** Renders a piece as it is stored. `request/field-checks.ts` refuses pieces with two of these fields. */
function renderNewPiece(piece: {
  readonly text?: string;
  readonly data?: unknown;
  readonly question?: NewQuestion;
}): string {
  if (piece.question !== undefined) return JSON.stringify({ question: pickQuestion(piece.question) });
  return piece.text === undefined
    ? JSON.stringify({ data: piece.data })
    : JSON.stringify({ text: piece.text });
}

/** Picks the declared fields of a question. */
function pickQuestion({ key, prompt, schema }: NewQuestion): NewQuestion {
  return schema === undefined ? { key, prompt } : { key, prompt, schema };
}

/** Whether the header `Accept` names the media type of streams. */
function acceptsFrames(accept: string | undefined): boolean {
  const ranges = accept?.toLowerCase().split(',') ?? [];
  return ranges.some((range) => range.split(';', 1)[0]?.trim() === 'text/event-stream');
}

/**
 * Reads the number in `Last-Event-ID`; undefined if the header is missing or empty. Any other text counts as
 * 0, so that the reader begins with the first piece.
 */
function readLastId(id: string | undefined): number | undefined {
  if (!id) return undefined;
  return /^\d{1,10}$/.test(id) ? Number(id) : 0;
}

function renderPage(request_id: string, { pieces, last, complete, missing, ...task }: ReadOutput): Buffer {
  const { status, progress, outcome } = task;
  const before = JSON.stringify({ request_id, status, progress, outcome }).slice(0, -1);
  const behind = JSON.stringify({ last, complete, missing }).slice(1);
  return Buffer.from(`${before},"pieces":[${pieces.map(renderPiece).join(',')}],${behind}`);
}

async function* renderFrames(items: AsyncIterable<OutputItem>): AsyncGenerator<Buffer> {
  for await (const item of items) yield renderOutput(item);
}
