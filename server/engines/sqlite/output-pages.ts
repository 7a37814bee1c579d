/** Reads pages of committed output, bounded in bytes. */
import { STORE_LIMITS } from '../../ports/limits.ts';
import type { OutputPage } from '../../ports/output.ts';
import type { Prepare } from './statements.ts';

export function createOutputPages(
  prepare: Prepare,
): (request_id: string, after: number, limit: number) => OutputPage {
  const findRevision = prepare("SELECT revision FROM value WHERE kind = 'task' AND id = ?");
  const findHead = prepare('SELECT last, is_full, is_removed FROM output WHERE task = ?');
  const selectPieces = prepare(
    'SELECT n, coalesce(json, (SELECT large.json FROM large WHERE large.id = large_id)) FROM piece ' +
      'WHERE task = ? AND n > ? ORDER BY n LIMIT ?',
  );

  /** Few enough that a page of large pieces reads hardly more than it shows. */
  const PIECES_PER_READ = 16;

  function readPieces(request_id: string, after: number, limit: number): OutputPage['pieces'] {
    const pieces: { n: number; json: string }[] = [];
    let bytes = 0;
    for (let from = after; pieces.length < limit; ) {
      const rows = selectPieces.all(request_id, from, Math.min(PIECES_PER_READ, limit - pieces.length));
      for (const [n, json] of rows) {
        bytes += Buffer.byteLength(String(json));
        if (pieces.length > 0 && bytes > STORE_LIMITS.outputPageBytes) return pieces;
        pieces.push({ n: Number(n), json: String(json) });
        from = Number(n);
      }
      if (rows.length < PIECES_PER_READ) break;
    }
    return pieces;
  }

  return (request_id, after, limit) => {
    const revision = findRevision.get(request_id)?.[0];
    if (revision === undefined) return { pieces: [], last: 0, missing: null, revision: null };
    const [last = 0, isFull, isRemoved] = findHead.get(request_id) ?? [];
    const missing = isRemoved === 1 ? 'removed' : isFull === 1 ? 'truncated' : null;
    const pieces = Number(last) > after && isRemoved !== 1 ? readPieces(request_id, after, limit) : [];
    return { pieces, last: Number(last), missing, revision: String(revision) };
  };
}
