/** Bytes from files, standard input and programs as text: UTF-8, with or without a byte-order mark. */
import { createUsageError } from './exit-codes.ts';

const HOW = 'Save it as UTF-8 (in PowerShell: Out-File -Encoding utf8).';

/** The text of some bytes; `source` names them in errors. Throws a usage error for anything that is not UTF-8. */
export function decodeText(bytes: Uint8Array, source: string): string {
  if (isUtf16(bytes)) throw createUsageError(`${source} is UTF-16, not UTF-8. ${HOW}`);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw createUsageError(`${source} is not UTF-8. ${HOW}`);
  }
}

/** By its byte-order mark, or by the zero beside the ASCII character that any JSON begins with. */
function isUtf16(bytes: Uint8Array): boolean {
  const [first, second] = bytes;
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) return true;
  return (first === 0) !== (second === 0) && bytes.length > 1;
}
