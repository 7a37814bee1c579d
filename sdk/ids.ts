/** Random ids, and a check of ids that become part of a path. */
import { InvalidOptionError } from './errors.ts';

/** Returns a random id of 128 bits. Outside a secure context browsers lack `randomUUID`. */
export function createId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Returns an id that a path can hold. Throws for `.` and `..`, which are steps between folders in a URL. */
export function requireId(id: string): string {
  if (typeof id === 'string' && !/^\.{0,2}$/.test(id)) return id;
  throw new InvalidOptionError('An id must be a text other than "", "." and "..".');
}
