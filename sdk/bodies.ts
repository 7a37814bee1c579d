/**
 * Reads the bodies of responses within limits. Whatever is at the address may send a gigabyte of zeros in a
 * megabyte of gzip, or brackets that cost a parser a hundred times their size.
 */
import { createForeignError } from './errors.ts';

/** The contract lets a payload or a result nest 100 deep. */
const DEPTH_MAX = 250;

/** The default limit of a response. A page of tasks has about 6 MiB at most; a list of agents has more. */
export const RESPONSE_BYTES_MAX = 67_108_864;

/** Returns the whole body as text. Throws a `ConnectionError` (`response_too_large`) beyond the limit. */
export async function readText({ body }: Response, bytesMax = RESPONSE_BYTES_MAX): Promise<string> {
  const reader = body?.getReader();
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  while (reader) {
    const { done, value } = await reader.read();
    if (done) break;
    bytes += value.length;
    if (bytes > bytesMax) {
      reader.cancel().catch(() => undefined);
      throw createForeignError('response_too_large', `sends more than ${bytesMax} bytes (maxResponseBytes)`);
    }
    text += decoder.decode(value, { stream: true });
  }
  return text + decoder.decode();
}

/** Returns the JSON value of a text. Throws a `SyntaxError`, also for JSON that nests too deep. */
export function parseJson(text: string): unknown {
  if (!checkDepth(text)) throw new SyntaxError('too deep');
  return JSON.parse(text);
}

/** Whether a JSON text nests no deeper than is safe to parse. */
export function checkDepth(text: string): boolean {
  let depth = 0;
  let isInString = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 0x22) isInString = !isInString;
    else if (isInString) at += code === 0x5c ? 1 : 0;
    else if (code === 0x5b || code === 0x7b) depth += 1;
    else if (code === 0x5d || code === 0x7d) depth -= 1;
    if (depth > DEPTH_MAX) return false;
  }
  return true;
}
