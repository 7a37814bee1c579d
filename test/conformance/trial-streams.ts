/**
 * Carries a stream from the simulator to the subject, frame by frame: what is written for each, whole or in
 * pieces, once or again, and where it is cut.
 */
import type { ServerResponse } from 'node:http';
import type { Fields } from './findings.ts';

/** Fields that no agent and no client knows. */
export const NEWER = { newer_field: { of: ['a', 'newer', 'gateway', '更新'] } };

/** A frame with an id, before it is written. */
export type Frame = {
  readonly id: string;
  readonly data: string;
  /** Its place among all frames of this stream and of earlier ones, from 0. */
  readonly index: number;
  readonly fields: Fields;
};
/** What is written for a frame, piece by piece. */
export type Written = { readonly pieces: readonly (string | Uint8Array)[]; readonly isCut?: boolean };
/** Returns what the nth stream of its operation gets in place of a frame; undefined for the usual. */
export type WriteFrame = (frame: Frame, nth: number) => Written | undefined;

export type CarriedStream = {
  readonly nth: number;
  /** The ids of this stream and of earlier ones. */
  readonly seen: string[];
  readonly response: ServerResponse;
  readonly write: WriteFrame | undefined;
};

/** The pause between two pieces of a frame, so that they do not arrive as one. */
const PIECE_MS = 5;
/** How long before a cut the last bytes may take to leave. */
export const FLUSH_MS = 50;
/** How soon a client should reopen a stream that was cut, in milliseconds. */
const RETRY_MS = 500;

/** Returns the usual text of a frame. */
export const usual = ({ id, data }: Pick<Frame, 'id' | 'data'>): string => `id: ${id}\ndata: ${data}\n\n`;

/** Carries a stream until it ends, is cut, or the subject has left. */
export async function carryStream(source: ReadableStream<Uint8Array>, to: CarriedStream): Promise<void> {
  const { response } = to;
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for await (const bytes of source) {
      const frames = `${rest}${decoder.decode(bytes, { stream: true })}`.split(/(?<=\n\n)/);
      rest = frames.at(-1)?.endsWith('\n\n') ? '' : (frames.pop() ?? '');
      for (const text of frames) if (await carryFrame(text, to)) return void response.destroy();
    }
    response.end();
  } catch {
    response.destroy();
  }
}

/** Writes a frame. Resolves to whether the stream is to be cut after it. */
async function carryFrame(text: string, { nth, seen, response, write }: CarriedStream): Promise<boolean> {
  const [, id] = /^id: (.*)$/m.exec(text) ?? [];
  const [, json] = /^data: (.*)$/m.exec(text) ?? [];
  if (json === undefined) {
    response.write(text.replace(/^retry: \d+$/m, `retry: ${RETRY_MS}`));
    return false;
  }
  const fields: Fields = JSON.parse(json);
  const data = JSON.stringify({ ...fields, ...NEWER });
  if (id === undefined) {
    response.write(text.replace(json, () => data));
    return false;
  }
  if (!seen.includes(id)) seen.push(id);
  const frame: Frame = { id, data, index: seen.indexOf(id), fields };
  const { pieces, isCut = false } = write?.(frame, nth) ?? { pieces: [usual(frame)] };
  for (const piece of pieces) {
    response.write(piece);
    if (pieces.length > 1) await pause(PIECE_MS);
  }
  if (isCut) await pause(FLUSH_MS);
  return isCut;
}

/** Resolves after this time. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
