/**
 * Pages of output. Those that callers want in one tick come in one reply, which is bounded: a page that found
 * no room in it is read again.
 */
import type { OutputPage } from '../../../ports/output.ts';
import { StoreDamaged } from '../../../ports/store.ts';
import { splitPieces } from '../../pieces.ts';
import type { Connection } from '../connection/connection.ts';
import { scripts } from '../scripts.ts';
import { createCallBatches } from './call-batches.ts';

/** As `scripts/output_pages.lua` has a page. */
type PageReply = readonly [revision: string | null, output: string | null, entries: readonly string[]];

/** If nothing of a page came in this many replies, it is not there: a reply has the pages asked for first. */
const TRIES_MAX = 1_000;

/** Creates the reads over the connection. */
export function createOutputReads(connection: Connection) {
  const batches = createCallBatches<PageReply>(async (args) => {
    return (await connection.call(scripts.outputPages, args)) as unknown as readonly PageReply[];
  });

  return async (request_id: string, after: number, limit: number): Promise<OutputPage> => {
    connection.requireUp();
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      const reply = await batches.run([request_id, String(after), String(limit)]);
      const page = parsePage(reply, after, limit);
      if (page.last <= after || page.missing === 'removed') return page;
      if (page.pieces.some(({ n }, index) => n !== after + 1 + index)) break;
      if (page.pieces.length > 0) return page;
    }
    throw new StoreDamaged(`The store is damaged: it lacks output of ${request_id} behind piece ${after}.`);
  };
}

function parsePage([revision, output, entries]: PageReply, after: number, limit: number): OutputPage {
  const pieces: { readonly n: number; readonly json: string }[] = [];
  for (let index = 0; index + 1 < entries.length; index += 2) {
    const texts = splitPieces(entries[index + 1] ?? '');
    const first = Number(entries[index]) - texts.length + 1;
    for (const [offset, json] of texts.entries()) {
      const n = first + offset;
      if (n > after && pieces.length < limit) pieces.push({ n, json });
    }
  }
  const [, last = '0', , flag] = output?.split(' ', 4) ?? [];
  const missing = flag === 'r' ? 'removed' : flag === 'f' ? 'truncated' : null;
  return { pieces, last: Number(last), missing, revision };
}
