/**
 * Searches a gateway's outputs for secrets: as they are, and in the forms that text is often encoded in, such
 * as base64, percent-encoding, hexadecimal and escapes of JSON. A leak is reported by the secret's position
 * in the list, never by its text.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

export type Canaries = {
  /** Returns which secrets the output contains, and in which form; empty when it contains none. */
  findLeaks(output: string | Uint8Array): readonly string[];
};

/** The forms of a secret. A form that leaves a secret as it is only repeats it, which does no harm. */
const FORMS: Readonly<Record<string, (secret: string) => readonly string[]>> = {
  'as it is': (secret) => [secret],
  'in capitals': (secret) => [secret.toUpperCase()],
  'percent-encoded': (secret) => [
    encodeURIComponent(secret),
    new URLSearchParams([['', secret]]).toString().slice(1),
    percentAll(secret),
    percentAll(secret).toLowerCase(),
    encodeURIComponent(encodeURIComponent(secret)),
    encodeURIComponent(percentAll(secret)),
  ],
  'escaped as in JSON': (secret) => [
    JSON.stringify(secret).slice(1, -1),
    JSON.stringify(JSON.stringify(secret)).slice(3, -3),
    [...secret].map((char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`).join(''),
  ],
  hexadecimal: (secret) => [
    Buffer.from(secret).toString('hex'),
    Buffer.from(secret).toString('hex').toUpperCase(),
  ],
  base64: writeBase64,
  'UTF-16': (secret) => [Buffer.from(secret, 'utf16le').toString('latin1')],
};

/**
 * Creates the search. Secrets are ASCII. Throws for one of fewer than 8 characters, which other text might
 * contain.
 */
export function createCanaries(secrets: readonly string[]): Canaries {
  if (secrets.some((one) => one.length < 8))
    throw new Error('A secret is shorter than 8 characters: too short to search for.');
  const wanted = secrets.flatMap((secret, index) =>
    Object.entries(FORMS).flatMap(([form, write]) =>
      write(secret).map((text) => ({
        what: `secret ${index + 1}, ${form}`,
        bytes: Buffer.from(text, 'latin1'),
      })),
    ),
  );
  return {
    findLeaks(output) {
      const bytes = typeof output === 'string' ? Buffer.from(output) : Buffer.from(output);
      return [...new Set(wanted.filter((one) => bytes.includes(one.bytes)).map(({ what }) => what))];
    },
  };
}

/** Returns the contents of the store's files, such as its database, its log and its lock, by their names. */
export function readStoreFiles(file: string): ReadonlyMap<string, Buffer> {
  const found = new Map<string, Buffer>();
  for (const name of existsSync(dirname(file)) ? readdirSync(dirname(file)) : []) {
    if (!name.startsWith(basename(file))) continue;
    try {
      found.set(name, readFileSync(join(dirname(file), name)));
    } catch (error) {
      // A folder, or a file that was just removed, has nothing to search.
      if (!(error instanceof Error && 'code' in error && /^(EISDIR|ENOENT)$/.test(String(error.code))))
        throw error;
    }
  }
  return found;
}

function percentAll(text: string): string {
  return [...Buffer.from(text)]
    .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
    .join('');
}

/**
 * Returns the base64 of the secret at each of its three alignments in a text, without the characters that its
 * neighbours change.
 */
function writeBase64(secret: string): readonly string[] {
  return [0, 1, 2].flatMap((before) => {
    const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(secret)]);
    const first = Math.ceil((before * 8) / 6);
    const last = Math.floor((bytes.length * 8) / 6);
    return [bytes.toString('base64').slice(first, last), bytes.toString('base64url').slice(first, last)];
  });
}
