/** Files of secrets, for `--auth-file` and for contexts. */
import { decodeText, readSmallFile } from './decoding.ts';
import { CommandError, createUsageError } from './exit-codes.ts';

/** The secrets in a file; at least one. */
export type AuthFile = { readonly auth?: string; readonly adminAuth?: string };

const FILE_BYTES_MAX = 65_536;

/**
 * Reads a file of secrets. It holds either the gateway secret on one line, or lines `TASK_GATEWAY_AUTH=…` and
 * `TASK_GATEWAY_ADMIN_AUTH=…`; empty lines and lines that start with `#` are ignored. Throws usage errors, in
 * which `source` names the file.
 */
export function readAuthFile(path: string, source: string): AuthFile {
  const text = decodeText(readBytes(path, source), source);
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '' && !line.startsWith('#'));
  const named = new Map<string, string>();
  const plain: string[] = [];
  for (const line of lines) {
    const [, name, value = ''] = /^\s*(TASK_GATEWAY_(?:ADMIN_)?AUTH)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
    if (name) named.set(name, value);
    else plain.push(line.trim());
  }
  const auth = named.get('TASK_GATEWAY_AUTH') ?? plain[0];
  const adminAuth = named.get('TASK_GATEWAY_ADMIN_AUTH');
  if (plain.length > 1 || (plain.length > 0 && named.size > 0) || (!auth && !adminAuth)) {
    throw createUsageError(
      `${source} must hold either the gateway secret on one line, or lines TASK_GATEWAY_AUTH=… and TASK_GATEWAY_ADMIN_AUTH=….`,
    );
  }
  return { ...(auth && { auth }), ...(adminAuth && { adminAuth }) };
}

function readBytes(path: string, source: string): Uint8Array {
  try {
    return readSmallFile(path, FILE_BYTES_MAX, `${source} "${path}"`);
  } catch (error) {
    if (error instanceof CommandError) throw error;
    const code = error instanceof Error && 'code' in error ? error.code : 'unreadable';
    throw createUsageError(`${source} "${path}" can't be read (${code}).`);
  }
}
