/**
 * Parses the bytes of an event stream (server-sent events, as the HTML standard defines them) into frames. It
 * accepts every kind of line end, a byte-order mark, and characters or line ends split between chunks. An
 * event that no empty line completes is never returned.
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
      /** The id sent with this event; undefined without one. */
      readonly id: string | undefined;
      /** The event's type; undefined without one. */
      readonly type: string | undefined;
      readonly data: string;
    }
  /** An id without an event. A later connection resumes behind it. */
  | { readonly kind: 'id'; readonly id: string }
  | { readonly kind: 'comment'; readonly text: string }
  | { readonly kind: 'retry'; readonly retryMs: number };

/** Takes the next chunk of bytes and returns the frames that it completes. */
export type FrameReader = (chunk: Uint8Array) => readonly Frame[];

/**
 * Creates a reader for one connection. It throws a `ConnectionError` when an event exceeds `frameCharsMax`.
 */
export function createFrameReader(frameCharsMax = RESPONSE_BYTES_MAX): FrameReader {
  const split = createLineSplitter();
  const { readLine, countChars } = createLineReader();
  return (chunk) => {
    const { lines, restChars } = split(chunk);
    const frames: Frame[] = [];
    const requireSize = (chars: number): void => {
      if (chars <= frameCharsMax) return;
      throw createForeignError(
        'event_too_large',
        `sends an event of more than ${frameCharsMax} characters (maxResponseBytes)`,
      );
    };
    for (const line of lines) {
      const frame = readLine(line);
      if (frame) frames.push(frame);
      requireSize(countChars());
    }
    requireSize(countChars() + restChars);
    return frames;
  };
}

/**
 * Decodes UTF-8, removes one leading byte-order mark, and splits the text into complete lines. The platform's
 * decoder is set to keep the mark, because Node's removes two when the first one is split between chunks. CR,
 * LF and CRLF each end a line. A CR ends it at once, even at the end of a chunk; an LF that opens the next
 * chunk then belongs to that CR.
 */
function createLineSplitter(): (chunk: Uint8Array) => { lines: readonly string[]; restChars: number } {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  let rest = '';
  let skipped = '\uFEFF';
  return (chunk) => {
    const text = decoder.decode(chunk, { stream: true });
    if (text === '') return { lines: [], restChars: rest.length };
    const own = skipped && text.startsWith(skipped) ? text.slice(1) : text;
    skipped = own.endsWith('\r') ? '\n' : '';
    const [first = '', ...lines] = own.split(/\r\n?|\n/);
    lines.unshift(rest + first);
    rest = lines.pop() ?? '';
    return { lines, restChars: rest.length };
  };
}

/** Assembles lines into frames, and counts the characters of the incomplete event. */
function createLineReader(): { readLine(line: string): Frame | undefined; countChars(): number } {
  let data: string[] = [];
  let chars = 0;
  let id: string | undefined;
  let type: string | undefined;

  /** Returns the event that an empty line completes. Without data there is no event, but its id counts. */
  function dispatch(): Frame | undefined {
    const text = data.length > 0 ? data.join('\n') : undefined;
    const complete = { id, type: type || undefined };
    data = [];
    chars = 0;
    id = undefined;
    type = undefined;
    if (text !== undefined) return { ...complete, kind: 'event', data: text };
    return complete.id === undefined ? undefined : { kind: 'id', id: complete.id };
  }

  return {
    countChars: () => chars,
    readLine(line) {
      if (line === '') return dispatch();
      const [, name, value = ''] = /^([^:]*):? ?([\s\S]*)$/.exec(line) ?? [];
      if (name === '') return { kind: 'comment', text: value };
      if (name === 'data') {
        data.push(value);
        chars += value.length + 1;
      } else if (name === 'event') {
        type = value;
      } else if (name === 'id') {
        // The standard ignores an id with NUL, which no header can carry.
        if (!value.includes('\0')) id = value;
      } else if (name === 'retry' && /^\d+$/.test(value)) {
        return { kind: 'retry', retryMs: Number(value) };
      }
      return undefined;
    },
  };
}
