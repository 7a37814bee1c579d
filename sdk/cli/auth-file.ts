/** Files of secrets, for `--auth-file` and for contexts. */
import { decodeText, readSmallFile } from './decoding.ts';
import { CommandError, createUsageError } from './exit-codes.ts';

/** The secrets in a file; at least one. */
export type AuthFile = { readonly auth?: string; readonly adminAuth?: string };

const FILE_BYTES_MAX = 65_536;
const NAMED = /^\s*((?:TASK_)?GATEWAY_AUTH|(?:TASK_GATEWAY_)?ADMIN_AUTH)\s*=\s*(.*?)\s*$/;

/**
 * Reads a file of secrets, which may be the gateway's own. The file holds the gateway secret on one line, or
 * lines `GATEWAY_AUTH=…` and `ADMIN_AUTH=…`, also with the prefix of the client's variables. Beside such
 * lines, other variables, empty lines and those that start with `#` are ignored. Of two secrets on a line the
 * first one counts, which is the newer. Throws usage errors, in which `source` names the file.
 */
export function readAuthFile(path: string, source: string): AuthFile {
  const text = decodeText(readBytes(path, source), source);
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '' && !line.startsWith('#'));
  const named = new Map<string, string>();
  const plain: string[] = [];
  for (const line of lines) {
    const [, name, value = ''] = NAMED.exec(line) ?? [];
    if (name) named.set(name.replace(/^TASK_(GATEWAY_(?=ADMIN))?/, ''), value);
    else plain.push(line.trim());
  }
  const auth = named.size > 0 ? named.get('GATEWAY_AUTH') : plain[0];
  const adminAuth = named.get('ADMIN_AUTH');
  const isClear = named.size > 0 ? plain.every((line) => /^[A-Z_]+\s*=/.test(line)) : plain.length === 1;
  if (!isClear || (!auth && !adminAuth)) {
    throw createUsageError(
      `${source} must hold either the gateway secret on one line, or lines GATEWAY_AUTH=… and ADMIN_AUTH=….`,
    );
  }
  const [newest] = auth?.split(' ') ?? [];
  const [newestAdmin] = adminAuth?.split(' ') ?? [];
  return { ...(newest && { auth: newest }), ...(newestAdmin && { adminAuth: newestAdmin }) };
}

function readBytes(path: string, source: string): Uint8Array {
  try {
    return readSmallFile(path, FILE_BYTES_MAX, `${source} "${path}"`);
  } catch (error) {
    if (error instanceof CommandError) throw error;
    const code = error instanceof Error && 'code' in error ? error.code : 'unreadable';
    throw createUsageError(
      `${source} "${path}" can't be read (${code}). Name a file with the secret of the gateway.`,
    );
  }
}
