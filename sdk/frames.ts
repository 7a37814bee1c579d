/**
 * Reads the bytes of a server-sent-event stream into frames (§6; the HTML standard's "event stream" format). Pure:
 * bytes in, frames out. Every line end, a byte-order mark, and characters or line ends split between chunks are read
 * right; an event that is not finished by an empty line is never told.
 */
import { createParser, type ParseError } from 'eventsource-parser';
import { ConnectionError } from './errors.ts';

/** One thing a stream says. */
export type Frame =
  | {
      readonly kind: 'event';
      /** The id given with this event; absent if it had none. */
      readonly id: string | undefined;
      /** Its type; absent for the unnamed ones. */
      readonly type: string | undefined;
      readonly data: string;
    }
  | { readonly kind: 'comment'; readonly text: string }
  | { readonly kind: 'retry'; readonly retryMs: number };

/** Takes chunks of bytes as they come and answers the frames they complete. */
export type FrameReader = (chunk: Uint8Array) => readonly Frame[];

/** Characters of one unfinished event; the gateway's results are far below. */
export const FRAME_CHARS_MAX = 67_108_864;

/** Creates a reader for one connection. Throws a `ConnectionError` when an event exceeds `frameCharsMax`. */
export function createFrameReader(frameCharsMax = FRAME_CHARS_MAX): FrameReader {
  const decode = createDecoder();
  const normalize = createLineEndNormalizer();
  let frames: Frame[] = [];
  const parser = createParser({
    maxBufferSize: frameCharsMax,
    onEvent: ({ id, event, data }) => frames.push({ kind: 'event', id, type: event, data }),
    onComment: (text) => frames.push({ kind: 'comment', text }),
    onRetry: (retryMs) => frames.push({ kind: 'retry', retryMs }),
    onError: refuseOversize,
  });
  // The byte-order mark is gone by then; of its first chunk the parser would also take a text that looks like one.
  parser.feed('');
  return (chunk) => {
    frames = [];
    parser.feed(normalize(decode(chunk)));
    return frames;
  };
}

/** Lines the standard says to ignore are ignored; memory is not given away without a limit. */
function refuseOversize(error: ParseError): void {
  if (error.type === 'max-buffer-size-exceeded') {
    throw new ConnectionError(
      'event_too_large',
      'The event stream carries an event that is too large to read.',
    );
  }
}

/**
 * UTF-8 without the byte-order mark that may open it. The platform's decoder is told to keep it: Node's takes two away
 * when the first comes in pieces.
 */
function createDecoder(): (chunk: Uint8Array) => string {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  let opening = true;
  return (chunk) => {
    const text = decoder.decode(chunk, { stream: true });
    if (!opening || text === '') return text;
    opening = false;
    return text.startsWith('\uFEFF') ? text.slice(1) : text;
  };
}

/** CR, LF and CRLF each end a line; a CRLF that is split between two chunks is one line end, not two. */
function createLineEndNormalizer(): (text: string) => string {
  let afterCr = false;
  return (text) => {
    if (text === '') return text;
    const rest = afterCr && text.startsWith('\n') ? text.slice(1) : text;
    afterCr = text.endsWith('\r');
    return rest.replace(/\r\n?/g, '\n');
  };
}
