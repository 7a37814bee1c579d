/**
 * Parses the bytes of an event stream (server-sent events, as the HTML standard defines them) into frames.
 * Pure: bytes in, frames out. It accepts every kind of line end, a byte-order mark, and characters or line
 * ends split between chunks. An event that no empty line completes is never returned.
 *
 * Why not the package eventsource-parser: it reads text, not bytes, and version 3.1.1 fails 4 of the 25 wire
 * cases in test/sdk/frames.test.ts. It holds back a CR that ends a chunk until the next chunk arrives ("lines
 * end with CR", "LF then CR is two line ends"), removes characters that only resemble a byte-order mark
 * ("characters that resemble a byte-order mark are kept"), and drops an id without data, behind which a later
 * connection must resume ("an id comes without data").
 */
import { RESPONSE_BYTES_MAX } from '../bodies.ts';
import { createForeignError } from '../errors.ts';

/** One parsed unit of a stream. */
export type Frame =
  | {
      readonly kind: 'event';
      /** The id sent with this event; undefined if it had none. */
      readonly id: string | undefined;
      /** Its type; undefined if it had none. */
      readonly type: string | undefined;
      readonly data: string;
    }
  /** An id without an event: a later connection resumes behind it. */
  | { readonly kind: 'id'; readonly id: string }
  | { readonly kind: 'comment'; readonly text: string }
  | { readonly kind: 'retry'; readonly retryMs: number };

/** Takes the next chunk of bytes and returns the frames it completes. */
export type FrameReader = (chunk: Uint8Array) => readonly Frame[];

/**
 * Creates a reader for one connection. It throws a `ConnectionError` when an event exceeds `frameCharsMax`.
 */
export function createFrameReader(frameCharsMax = RESPONSE_BYTES_MAX): FrameReader {
  const decode = createDecoder();
  const split = createLineSplitter();
  const readLine = createLineReader();
  return (chunk) => {
    const { lines, restChars } = split(decode(chunk));
    const frames: Frame[] = [];
    let eventChars = 0;
    for (const line of lines) {
      const { frame, chars } = readLine(line);
      if (frame) frames.push(frame);
      eventChars = chars;
      requireFrameSize(eventChars, frameCharsMax);
    }
    requireFrameSize(eventChars + restChars, frameCharsMax);
    return frames;
  };
}

/** Limits the memory that one event may take. */
function requireFrameSize(chars: number, charsMax: number): void {
  if (chars <= charsMax) return;
  throw createForeignError(
    'event_too_large',
    `sends an event of more than ${charsMax} characters (maxResponseBytes)`,
  );
}

/**
 * Decodes UTF-8 and removes one leading byte-order mark. The platform's decoder is set to keep it, because
 * Node's removes two when the first one is split between chunks.
 */
function createDecoder(): (chunk: Uint8Array) => string {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  let isStart = true;
  return (chunk) => {
    const text = decoder.decode(chunk, { stream: true });
    if (!isStart || text === '') return text;
    isStart = false;
    return text.startsWith('\uFEFF') ? text.slice(1) : text;
  };
}

/**
 * Splits text into complete lines. CR, LF and CRLF each end a line. A CR ends it at once, even at the end of
 * a chunk: an LF that opens the next chunk belongs to it.
 */
function createLineSplitter(): (text: string) => { lines: readonly string[]; restChars: number } {
  let rest = '';
  let afterCr = false;
  return (text) => {
    if (text === '') return { lines: [], restChars: rest.length };
    const own = afterCr && text.startsWith('\n') ? text.slice(1) : text;
    afterCr = own.endsWith('\r');
    const [first = '', ...lines] = own.split(/\r\n?|\n/);
    lines.unshift(rest + first);
    rest = lines.pop() ?? '';
    return { lines, restChars: rest.length };
  };
}

/** Assembles lines into frames. `chars` is the size of the incomplete event. */
function createLineReader(): (line: string) => { frame: Frame | undefined; chars: number } {
  let data: string[] = [];
  let chars = 0;
  let id: string | undefined;
  let type: string | undefined;

  /** Returns the event that an empty line completes. Without data there is no event, but its id counts. */
  function dispatch(): Frame | undefined {
    const complete = { id, type: type || undefined, data };
    data = [];
    chars = 0;
    id = undefined;
    type = undefined;
    if (complete.data.length > 0) return { ...complete, kind: 'event', data: complete.data.join('\n') };
    return complete.id === undefined ? undefined : { kind: 'id', id: complete.id };
  }

  function readField(name: string, value: string): Frame | undefined {
    if (name === 'data') {
      data.push(value);
      chars += value.length + 1;
    } else if (name === 'event') {
      type = value;
    } else if (name === 'id') {
      // The standard ignores an id with NUL, which fits in no header.
      if (!value.includes('\0')) id = value;
    } else if (name === 'retry' && /^\d+$/.test(value)) {
      return { kind: 'retry', retryMs: Number(value) };
    }
    return undefined;
  }

  function read(line: string): Frame | undefined {
    if (line === '') return dispatch();
    const colon = line.indexOf(':');
    if (colon < 0) return readField(line, '');
    const value = line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    return colon === 0 ? { kind: 'comment', text: value } : readField(line.slice(0, colon), value);
  }

  return (line) => {
    const frame = read(line);
    return { frame, chars };
  };
}
