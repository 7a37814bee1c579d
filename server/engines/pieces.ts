/**
 * Joins the pieces of one write to one text, as engines store and send them. The text is never parsed as
 * JSON.
 */

/**
 * Stands between pieces. A JSON text never has this character unescaped, which is why RFC 7464 uses it too.
 */
const SEPARATOR = '\u001e';

export function joinPieces(pieces: readonly string[]): string {
  return pieces.join(SEPARATOR);
}

/** Splits a joined text, which must have at least one piece. */
export function splitPieces(text: string): readonly string[] {
  return text.split(SEPARATOR);
}
