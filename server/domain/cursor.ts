/**
 * Cursors of the listings. A cursor is a position in a listing, which callers send back unchanged. Its text
 * is base64url, so that no caller takes it for an id.
 */

/** Writes a position as a cursor. The position must not be empty. */
export function writeCursor(position: string): string {
  return Buffer.from(position, 'utf8').toString('base64url');
}

/** Returns the position of a cursor; null for a text that `writeCursor` never returns. */
export function readCursor(cursor: string): string | null {
  const position = Buffer.from(cursor, 'base64url').toString('utf8');
  return position !== '' && writeCursor(position) === cursor ? position : null;
}
