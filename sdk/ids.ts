/** Random ids that do not collide. */

/** Returns a random id of 128 bits. Outside a secure context browsers lack `randomUUID` but have `getRandomValues`. */
export function createId(): string {
  if (typeof crypto.randomUUID === 'function') return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
