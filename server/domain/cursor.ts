/**
 * Cursors of the listings: a position in the order of a listing, as a text that callers send back unchanged.
 * The text is base64url of the position in UTF-8, so that no caller takes it for an id.
 */

/** Writes a position, which is never empty, as a cursor. */
export function writeCursor(position: string): string {
  return Buffer.from(position, 'utf8').toString('base64url');
}

/** Returns the position of a cursor; null when `writeCursor` never returned that text. */
export function readCursor(cursor: string): string | null {
  const position = Buffer.from(cursor, 'base64url').toString('utf8');
  return position !== '' && writeCursor(position) === cursor ? position : null;
}
