/** Reads pages of output, at most 16 of 256 KiB at once. Further reads wait until a page has come. */
import type { OutputPage } from '../../../ports/output.ts';
import { StoreDamaged } from '../../../ports/store.ts';
import { splitPieces } from '../../pieces.ts';
import type { Connection } from '../connection/connection.ts';
import { scripts } from '../scripts.ts';

/** The reply of `scripts/output_page.lua`. */
type PageReply = readonly [revision: string | null, output: string | null, entries: readonly string[]];

const UNDER_WAY_MAX = 16;

export function createOutputReads(connection: Connection) {
  let underWay = 0;
  const waiting: (() => void)[] = [];

  async function read(args: readonly string[]): Promise<PageReply> {
    if (underWay < UNDER_WAY_MAX) underWay += 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return (await connection.call(scripts.outputPage, args)) as unknown as PageReply;
    } finally {
      // The next waiting read takes the place of this one, so `underWay` stays.
      const next = waiting.shift();
      if (next) next();
      else underWay -= 1;
    }
  }

  return async (request_id: string, after: number, limit: number): Promise<OutputPage> => {
    connection.requireUp();
    const page = parsePage(await read([request_id, String(after), String(limit)]), after, limit);
    if (page.last <= after || page.missing === 'removed') return page;
    if (page.pieces.length > 0 && page.pieces.every(({ n }, index) => n === after + 1 + index)) return page;
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
