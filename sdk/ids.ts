/** Random ids that do not collide. */

/** Returns a random id of 128 bits. Outside a secure context browsers lack `randomUUID`. */
export function createId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
