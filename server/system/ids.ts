/** Real ids and real random numbers. */
import { randomBytes, randomUUIDv7 } from 'node:crypto';
import type { Ids, Random } from '../ports/clock.ts';

/**
 * Creates the source of ids: UUIDv7 for tasks, 96 random bits for registrations. The task ids of one process
 * ascend, also within a millisecond, where UUIDv7 alone has no order; so a store that orders its rows by id
 * appends.
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

/** The next id in order. The random tail has room for more ids than a process can create in a millisecond. */
function nextAfter(id: string): string {
  const tail = Math.min(TAIL_MAX, Number.parseInt(id.slice(-TAIL_DIGITS), 16) + 1);
  return id.slice(0, -TAIL_DIGITS) + tail.toString(16).padStart(TAIL_DIGITS, '0');
}

/** For jitter only: it is fast, and it need not be hard to guess. */
export const random: Random = () => Math.random();
