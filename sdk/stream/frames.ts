/**
 * Reads the bytes of a server-sent-event stream into frames (§6; the HTML standard's "event stream" format). Pure:
 * bytes in, frames out. Every line end, a byte-order mark, and characters or line ends split between chunks are read
 * right; an event that is not finished by an empty line is never told.
 */
import { ConnectionError } from '../errors.ts';

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
  /** An id without an event: from here on the stream would be resumed behind it. */
  | { readonly kind: 'id'; readonly id: string }
  | { readonly kind: 'comment'; readonly text: string }
  | { readonly kind: 'retry'; readonly retryMs: number };

/** Takes chunks of bytes as they come and answers the frames they complete. */
export type FrameReader = (chunk: Uint8Array) => readonly Frame[];

/** Characters of one unfinished event; the gateway's results are far below. */
export const FRAME_CHARS_MAX = 67_108_864;

/** Creates a reader for one connection. Throws a `ConnectionError` when an event exceeds `frameCharsMax`. */
export function createFrameReader(frameCharsMax = FRAME_CHARS_MAX): FrameReader {
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
      refuseOversize(eventChars, frameCharsMax);
    }
    refuseOversize(eventChars + restChars, frameCharsMax);
    return frames;
  };
}

/** Memory is not given away without a limit. */
function refuseOversize(chars: number, frameCharsMax: number): void {
  if (chars <= frameCharsMax) return;
  throw new ConnectionError(
    'event_too_large',
    'The event stream carries an event that is too large to read.',
  );
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

/**
 * Whole lines as they come. CR, LF and CRLF each end one, a CR at once: the LF that may follow it in the next chunk
 * belongs to it.
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

/** Puts lines together to frames; `chars` is the size of the event so far. */
function createLineReader(): (line: string) => { frame: Frame | undefined; chars: number } {
  let data: string[] = [];
  let chars = 0;
  let id: string | undefined;
  let type: string | undefined;

  /** The event that an empty line ends. Without data it is none, but its id counts. */
  function dispatch(): Frame | undefined {
    const ended = { id, type: type || undefined, data };
    data = [];
    chars = 0;
    id = undefined;
    type = undefined;
    if (ended.data.length > 0) return { ...ended, kind: 'event', data: ended.data.join('\n') };
    return ended.id === undefined ? undefined : { kind: 'id', id: ended.id };
  }

  function readField(name: string, value: string): Frame | undefined {
    if (name === 'data') {
      data.push(value);
      chars += value.length + 1;
    } else if (name === 'event') {
      type = value;
    } else if (name === 'id') {
      // The standard has an id with NUL ignored: no header could carry it.
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
