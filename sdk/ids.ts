/** Fresh names, where a collision must not happen. */

/** A random text of 128 bits. Outside a secure context browsers have no `randomUUID`, but they do have the bytes. */
export function createId(): string {
  if (typeof crypto.randomUUID === 'function') return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
