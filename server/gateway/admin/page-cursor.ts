/** Reads the cursors of the listings: each says where a page begins. */
import { readCursor } from '../../domain/cursor.ts';
import { GatewayError } from '../../ports/gateway.ts';

/** Reads the position in a cursor. Throws `validation_failed` for a text that is no cursor. */
export function requirePosition(cursor: string, form = /^/): string {
  const position = readCursor(cursor);
  if (position !== null && form.test(position)) return position;
  throw new GatewayError('validation_failed', 'must be the `next_cursor` of the previous page', '/cursor');
}
