/** Pieces of output as every engine stores those of one write: one text, which is never parsed as JSON. */

/** Between pieces. As an unescaped character it is in no JSON text; RFC 7464 uses it so. */
const SEPARATOR = '\u001e';

export function joinPieces(pieces: readonly string[]): string {
  return pieces.join(SEPARATOR);
}

/** The JSON texts again, of at least one piece. */
export function splitPieces(text: string): readonly string[] {
  return text.split(SEPARATOR);
}
