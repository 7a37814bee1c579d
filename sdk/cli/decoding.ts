/** Decodes what the command reads from files, standard input and programs: bytes as UTF-8, text as JSON. */
import { closeSync, openSync, readSync } from 'node:fs';
import { findChangedNumber } from '../numbers.ts';
import { createUsageError, messageOf } from './exit-codes.ts';

const UTF8_ADVICE = 'Save it as UTF-8 (in PowerShell: Out-File -Encoding utf8).';

/**
 * Decodes UTF-8, with or without a byte-order mark. For any other encoding throws a usage error, in which
 * `source` says where the bytes come from.
 */
export function decodeText(bytes: Uint8Array, source: string): string {
  if (isUtf16(bytes)) throw createUsageError(`${source} is UTF-16, not UTF-8. ${UTF8_ADVICE}`);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw createUsageError(`${source} is not UTF-8. ${UTF8_ADVICE}`);
  }
}

/**
 * Reads a small file. It reads no more than this many bytes, whatever the file is and however much it yields.
 * Throws a usage error for a larger one, and the errors of the file system; `source` names the file.
 */
export function readSmallFile(path: string, bytesMax: number, source: string): Uint8Array {
  const bytes = Buffer.alloc(bytesMax + 1);
  const file = openSync(path, 'r');
  try {
    let length = 0;
    for (let count = 1; count > 0 && length <= bytesMax; length += count) {
      count = readSync(file, bytes, length, bytes.length - length, null);
    }
    if (length > bytesMax) throw createUsageError(`${source} is larger than ${bytesMax / 1_024} KiB.`);
    return bytes.subarray(0, length);
  } finally {
    closeSync(file);
  }
}

/**
 * Detects UTF-16 by its byte-order mark, or by the zero byte beside the ASCII character with which JSON
 * starts.
 */
function isUtf16(bytes: Uint8Array): boolean {
  const [first, second] = bytes;
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) return true;
  return (first === 0) !== (second === 0) && bytes.length > 1;
}

/**
 * Parses JSON unchanged: refuses a number that JavaScript would round or overflow. Throws an error with a
 * message of one line.
 */
export function parseJson(text: string): unknown {
  const value = parseValue(text);
  const changed = findChangedNumber(text);
  if (changed === undefined) return value;
  throw new Error(`the number ${changed.slice(0, 40)} can't be kept exactly: give it as a string, in quotes`);
}

function parseValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(messageOf(error).replaceAll(/\s+/g, ' '));
  }
}
