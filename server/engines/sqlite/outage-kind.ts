/** Finds the kind of an outage of the SQLite engine by the error codes of SQLite and the operating system. */

import { type OutageKind, StoreDamaged, StoreUnavailable } from '../../ports/store.ts';

/** The code of an error when the path leads to another file or to none. */
export const FILE_MOVED = 'FILE_MOVED';

/** The keys are primary result codes, the low byte of SQLite's codes. */
const BY_SQLITE: ReadonlyMap<number, OutageKind> = new Map([
  [8, 'takes_no_writes'], // SQLITE_READONLY
  [10, 'disk_fails'], // SQLITE_IOERR
  [11, 'damaged'], // SQLITE_CORRUPT
  [13, 'full'], // SQLITE_FULL
  [26, 'damaged'], // SQLITE_NOTADB
]);
const BY_CODE: ReadonlyMap<unknown, OutageKind> = new Map([
  ['ENOSPC', 'full'],
  ['EDQUOT', 'full'],
  ['EFBIG', 'full'],
  ['EIO', 'disk_fails'],
  ['EROFS', 'takes_no_writes'],
  [FILE_MOVED, 'file_moved'],
]);

/** Returns the kind of a thrown error or of its causes; `silent` if none has a known code. */
export function outageKindOf(error: unknown): OutageKind {
  if (error instanceof StoreUnavailable) return error.kind;
  if (error instanceof StoreDamaged) return 'damaged';
  if (!(error instanceof Error)) return 'silent';
  const { errcode, code } = error as Error & { readonly errcode?: number; readonly code?: string };
  const known = errcode === undefined ? BY_CODE.get(code) : BY_SQLITE.get(errcode & 0xff);
  return known ?? outageKindOf(error.cause);
}
