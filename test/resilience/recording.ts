/**
 * The file operations and responses of the real gateway, recorded by strace: every write, truncation and
 * fsync of its database, and every response, in the order in which the kernel saw them.
 */
import { readFileSync } from 'node:fs';

export type Operation =
  | { readonly kind: 'create' | 'remove' | 'sync'; readonly file: string }
  /** An fsync that returned an error: the pages are marked as written, and are not. */
  | { readonly kind: 'failed sync'; readonly file: string }
  | { readonly kind: 'write'; readonly file: string; readonly at: number; readonly bytes: Buffer }
  /** A write at the end of the file. */
  | { readonly kind: 'append'; readonly file: string; readonly bytes: Buffer }
  | { readonly kind: 'rename'; readonly file: string; readonly to: string }
  | { readonly kind: 'truncate'; readonly file: string; readonly length: number }
  /** A text that left through a socket. */
  | { readonly kind: 'answer'; readonly text: string };

/** What strace records: whole buffers, in hexadecimal, with the files' names. */
export const STRACE = ['strace', '-D', '-f', '-y', '-xx', '-s', '5000000', '-e'] as const;
export const STRACE_CALLS = 'trace=openat,pwrite64,write,writev,fsync,fdatasync,ftruncate,unlink,rename';

/** Parses a recording; operations on other files than those below the folder are left out. */
export function readRecording(file: string, folder: string): readonly Operation[] {
  const operations: Operation[] = [];
  // A call that another thread interrupts stands in two lines: writes count from the first, fsyncs from the
  // second.
  const begun = new Map<string, string>();
  for (const line of readFileSync(file, 'latin1').split('\n')) {
    const [, thread = '', call = ''] = /^(\d+) +(.*)$/.exec(line) ?? [];
    const isSync = /^(<\.\.\. )?f(data)?sync/.test(call);
    if (call.endsWith('<unfinished ...>')) {
      begun.set(thread, call);
      if (isSync) continue;
    } else if (call.startsWith('<... ') && !isSync) continue;
    const text = call.startsWith('<... ') ? (begun.get(thread) ?? '') : call;
    const operation = readCall(text, folder, / = -1 E[A-Z]+/.test(call));
    if (operation) operations.push(operation);
  }
  return operations;
}

function readCall(call: string, folder: string, isFailed: boolean): Operation | undefined {
  const name = /^\w+/.exec(call)?.[0];
  if (name === 'openat') {
    const path = decode(/^openat\([^"]*"([^"]*)"/.exec(call)?.[1] ?? '').toString('utf8');
    return call.includes('O_CREAT') && isKept(path, folder) ? { kind: 'create', file: path } : undefined;
  }
  if (name === 'unlink') {
    const path = decode(/^unlink\("([^"]*)"/.exec(call)?.[1] ?? '').toString('utf8');
    return isKept(path, folder) ? { kind: 'remove', file: path } : undefined;
  }
  if (name === 'rename') {
    const [from = '', to = ''] = [...call.matchAll(/"([^"]*)"/g)].map(([, path = '']) =>
      decode(path).toString('utf8'),
    );
    return isKept(from, folder) ? { kind: 'rename', file: from, to } : undefined;
  }
  const target = decodeName(/^\w+\(\d+<([^>]*)>/.exec(call)?.[1] ?? '');
  if (!isKept(target, folder)) return isSocket(target) ? readAnswer(call) : undefined;
  switch (name) {
    case 'pwrite64': {
      if (/"\.\.\., \d+, \d+/.test(call))
        throw new Error('A write is longer than what strace records of it.');
      const [, bytes = '', at = ''] =
        /"([^"]*)", \d+, (\d+)\)/.exec(call) ?? /"([^"]*)", \d+, (\d+)/.exec(call) ?? [];
      return { kind: 'write', file: target, at: Number(at), bytes: decode(bytes) };
    }
    case 'write':
      return { kind: 'append', file: target, bytes: decode(/"([^"]*)"/.exec(call)?.[1] ?? '') };
    case 'ftruncate':
      return { kind: 'truncate', file: target, length: Number(/, (\d+)/.exec(call)?.[1]) };
    case 'fsync':
    case 'fdatasync':
      return { kind: isFailed ? 'failed sync' : 'sync', file: target };
    default:
      return undefined;
  }
}

function readAnswer(call: string): Operation | undefined {
  const parts = [...call.matchAll(/"((?:\\x[0-9a-f]{2})*)"/g)].map(([, bytes = '']) => decode(bytes));
  const text = Buffer.concat(parts).toString('utf8');
  return text === '' ? undefined : { kind: 'answer', text };
}

/** The shared memory of the database does not outlive a power cut, and the lock holds nothing. */
function isKept(path: string, folder: string): boolean {
  return path.startsWith(folder) && !path.endsWith('-shm') && !path.includes('.lock');
}

function isSocket(target: string): boolean {
  return /^(socket|TCP)/.test(target);
}

/** Names behind descriptors are written plain or in hexadecimal, by the version. */
function decodeName(name: string): string {
  return name.startsWith('\\x') ? decode(name).toString('utf8') : name;
}

function decode(hex: string): Buffer {
  return Buffer.from(hex.replaceAll('\\x', ''), 'hex');
}
