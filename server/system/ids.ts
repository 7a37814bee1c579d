/** Real ids and real random numbers. */
import { randomBytes, randomFillSync } from 'node:crypto';
import { mintTaskId, ORDER_END, TAIL_END } from '../domain/task-id.ts';
import type { Ids, Random } from '../ports/clock.ts';

/**
 * Creates the source of ids: `domain/task-id.ts` for tasks, 96 random bits for registrations. The task ids of
 * one process ascend, also within a millisecond; so a store that orders its rows by id appends.
 */
export function createIds(): Ids {
  const random = createRandomNumbers();
  let lastMs = 0;
  let order = 0;

  return {
    newRequestId(nowMs) {
      const ms = Math.floor(nowMs);
      if (ms > lastMs) {
        lastMs = ms;
        order = random.next(ORDER_END);
      } else {
        order += 1;
      }
      if (order >= ORDER_END) {
        lastMs += 1;
        order = random.next(ORDER_END);
      }
      return mintTaskId(lastMs, order, random.next(TAIL_END));
    },
    newRegistration: () => randomBytes(12).toString('base64url'),
  };
}

const BYTES_OF_A_NUMBER = 6;
const NUMBERS_AT_ONCE = 512;

/** Random numbers of up to 48 bits. Many are drawn at once: the call costs more than its numbers. */
function createRandomNumbers(): { next(below: number): number } {
  const bytes = Buffer.alloc(NUMBERS_AT_ONCE * BYTES_OF_A_NUMBER);
  let used = bytes.length;
  return {
    /** `below` is a power of two. */
    next(below) {
      if (used === bytes.length) {
        randomFillSync(bytes);
        used = 0;
      }
      const number = bytes.readUIntBE(used, BYTES_OF_A_NUMBER);
      used += BYTES_OF_A_NUMBER;
      return number % below;
    },
  };
}

/** For jitter only: it is fast, and it need not be hard to guess. */
export const random: Random = () => Math.random();
