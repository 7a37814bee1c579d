/**
 * Keeps the output of a program: its beginning and end for a result and for those who read while it runs, its
 * last lines for a reason, and its lines for a log.
 */
import { escapeControls } from '../../agent/thrown-text.ts';

const TAIL_LINES_MAX = 20;
const TAIL_CHARS_MAX = 2_000;
/** How many bytes of the end are kept when an output is cut: the end often says how the program ended. */
export const END_BYTES = 65_536;
/** Stands for the part that is missing. */
export const LEFT_OUT = '\n[… left out …]\n';

/**
 * Keeps a text up to a number of bytes: its beginning and, if it must be cut, its end. A cut never splits a
 * character.
 */
export function createOutputBuffer(bytesMax: number) {
  const endMax = Math.min(END_BYTES, Math.floor(bytesMax / 2));
  const begin: Buffer[] = [];
  const end: Buffer[] = [];
  let [beginBytes, endBytes, bytes] = [0, 0, 0];

  function addToEnd(chunk: Buffer): void {
    end.push(chunk);
    endBytes += chunk.length;
    for (let [first] = end; first && endBytes - first.length >= endMax; [first] = end) {
      endBytes -= first.length;
      end.shift();
    }
  }

  return {
    add(text: string): void {
      const chunk = Buffer.from(text);
      const kept = chunk.subarray(0, bytesMax - endMax - beginBytes);
      bytes += chunk.length;
      beginBytes += kept.length;
      if (kept.length > 0) begin.push(kept);
      if (kept.length < chunk.length) addToEnd(chunk.subarray(kept.length));
    },
    read(): { output: string; truncated: boolean } {
      if (bytes <= bytesMax)
        return { output: Buffer.concat([...begin, ...end]).toString(), truncated: false };
      const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
      const head = decoder.decode(Buffer.concat(begin), { stream: true });
      const last = Buffer.concat(end).subarray(Math.max(0, endBytes - endMax));
      const from = last.findIndex((byte) => (byte & 0xc0) !== 0x80);
      const tail = from === -1 ? '' : last.subarray(from).toString();
      return { output: head + LEFT_OUT + tail, truncated: true };
    },
  };
}

/** The gateway takes 3.5 MiB of a task's output: these bytes, the end, and the frames of the pieces. */
const FORWARDED_BYTES_MAX = 3_300_000;
const CHUNK_BYTES = 1_024;

/** Passes text on as long as the gateway takes it, and the end of the rest once the program has ended. */
export function createForwarding(write: (text: string) => Promise<void>, bytesMax = FORWARDED_BYTES_MAX) {
  let left = bytesMax;
  const rest: { text: string; bytes: number }[] = [];
  let restBytes = 0;
  let isCut = false;

  function keep(text: string, bytes: number): void {
    const last = rest.at(-1);
    if (last && last.bytes < CHUNK_BYTES)
      Object.assign(last, { text: last.text + text, bytes: last.bytes + bytes });
    else rest.push({ text, bytes });
    restBytes += bytes;
    for (let [first] = rest; first && restBytes - first.bytes >= END_BYTES; [first] = rest) {
      restBytes -= first.bytes;
      rest.shift();
      isCut = true;
    }
  }

  return {
    async add(text: string): Promise<void> {
      // The quotes do not count, because texts are joined to pieces.
      const bytes = countJsonBytes(text) - 2;
      left -= bytes;
      if (left >= 0 && rest.length === 0) await write(text);
      else keep(text, bytes);
    },
    async end(): Promise<void> {
      let end = rest.map(({ text }) => text).join('');
      while (countJsonBytes(end) > END_BYTES) {
        end = end.slice(Math.max(64, Math.ceil((end.length - END_BYTES) / 2)));
        isCut = true;
      }
      // The cut may leave half of a character.
      if (end !== '') await write((isCut ? LEFT_OUT : '') + end.replace(/^[\udc00-\udfff]/, ''));
    },
  };
}

function countJsonBytes(text: string): number {
  return Buffer.byteLength(JSON.stringify(text));
}

/** Keeps the last lines of a text, and escapes characters that a terminal would obey. */
export function createTail() {
  let text = '';
  return {
    add(more: string): void {
      text = overwriteLines(text + more).slice(-TAIL_CHARS_MAX);
    },
    read(): string {
      // The cut may leave half of a character.
      const lines = text.replace(/^[\udc00-\udfff]/, '').replace(/\r$/, '');
      return escapeControls(lines.trim().split('\n').slice(-TAIL_LINES_MAX).join('\n'));
    },
  };
}

/** Passes on whole lines as they last stood, and at the end a line without an end; no empty lines. */
export function createLines(onLine: (line: string) => void) {
  let rest = '';
  const log = (line: string): void => {
    if (line.trim() !== '') onLine(line);
  };
  return {
    add(more: string): void {
      const lines = overwriteLines(rest + more).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) log(line);
      if (rest.length <= TAIL_CHARS_MAX) return;
      log(rest);
      rest = '';
    },
    end(): void {
      log(rest.replace(/\r$/, ''));
      rest = '';
    },
  };
}

/**
 * Lets a carriage return overwrite its line, so that a progress bar is one line. One at the end of the text
 * waits for what follows.
 */
function overwriteLines(text: string): string {
  const lines = text.replaceAll('\r\n', '\n').split('\n');
  return lines.map((line, index) => overwriteLine(line, index === lines.length - 1)).join('\n');
}

function overwriteLine(line: string, isLast: boolean): string {
  if (!line.includes('\r')) return line;
  const shown =
    line
      .split('\r')
      .filter((frame) => frame !== '')
      .at(-1) ?? '';
  return isLast && line.endsWith('\r') ? `${shown}\r` : shown;
}
