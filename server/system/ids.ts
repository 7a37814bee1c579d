/** Real names and real chance, from the system's random source. */
import { randomBytes, randomUUIDv7 } from 'node:crypto';
import type { Ids, Random } from '../ports/clock.ts';

/**
 * Creates the source of names: UUIDv7 for tasks (opaque to clients, §2.1), 96 random bits for registrations. Within a
 * process the tasks' names rise, also within a millisecond, where UUIDv7 alone is in no order: a store that keeps rows
 * by name then appends.
 */
export function createIds(): Ids {
  let last = '';
  function newRequestId(): string {
    const id = randomUUIDv7();
    last = id > last ? id : nextAfter(last);
    return last;
  }
  return {
    newRequestId,
    newRegistration: () => randomBytes(12).toString('base64url'),
  };
}

const TAIL_DIGITS = 12;
const TAIL_MAX = 16 ** TAIL_DIGITS - 1;

/** The name behind this one; the random tail leaves room for more than any process can make. */
function nextAfter(id: string): string {
  const tail = Math.min(TAIL_MAX, Number.parseInt(id.slice(-TAIL_DIGITS), 16) + 1);
  return id.slice(0, -TAIL_DIGITS) + tail.toString(16).padStart(TAIL_DIGITS, '0');
}

/** For jitter alone, so speed counts and nobody gains by guessing. */
export const random: Random = () => Math.random();
