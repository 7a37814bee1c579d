/** Keeps the output of a program: its beginning and end for a result, its last lines for a reason. */
import { escapeControls } from '../../agent/thrown-text.ts';

const TAIL_LINES_MAX = 20;
const TAIL_CHARS_MAX = 2_000;
/** Of an output that is cut, so much of its end is kept: it often says how the program ended. */
export const END_BYTES = 65_536;
/** Stands for what is missing. */
export const LEFT_OUT = '\n[… left out …]\n';

/**
 * Keeps text up to a number of bytes: its beginning and, if it is cut, its end. The cuts never split a
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

/** Keeps the last lines of a text. Characters that a terminal would obey are escaped in them. */
export function createTail() {
  let text = '';
  return {
    add(more: string): void {
      text = (text + more).slice(-TAIL_CHARS_MAX);
    },
    read(): string {
      // A line that overwrites itself, such as a bar of progress, is several. A cut may leave half of a
      // character.
      const lines = text.replace(/^[\udc00-\udfff]/, '').replaceAll(/\r+\n?/g, '\n');
      return escapeControls(lines.trim().split('\n').slice(-TAIL_LINES_MAX).join('\n'));
    },
  };
}
