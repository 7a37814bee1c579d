/** Real ids and real random numbers. */
import { randomBytes, randomFillSync } from 'node:crypto';
import { mintTaskId, ORDER_END, ORDER_STEP_END, TAIL_END } from '../domain/task-id.ts';
import type { Ids, Random } from '../ports/clock.ts';

/**
 * Creates the source of ids: `domain/task-id.ts` for tasks, 96 random bits for registrations. The task ids of
 * one process ascend, even within a millisecond or after the clock went back, so a store that orders rows by
 * id appends. A millisecond has room for 1,000 ids on average; further ids take the next millisecond.
 */
export function createIds(random: IdNumbers = createRandomNumbers()): Ids {
  let frontMs = 0;
  let order = 0;

  return {
    newRequestId(nowMs) {
      const submittedMs = Math.floor(nowMs);
      const nextOrder = order + 1 + random.next(ORDER_STEP_END);
      if (submittedMs > frontMs || nextOrder >= ORDER_END) {
        frontMs = Math.max(submittedMs, frontMs + 1);
        order = random.next(ORDER_END);
      } else {
        order = nextOrder;
      }
      return mintTaskId({ submittedMs, frontMs, order, tail: random.next(TAIL_END) });
    },
    newRegistration: () => random.bytes(REGISTRATION_BYTES).toString('base64url'),
  };
}

const REGISTRATION_BYTES = 12;

/** The source of random numbers for ids. Default: the system's. */
export type IdNumbers = {
  /** A number from 0 to below `below`, which is a power of two of up to 48 bits. */
  next(below: number): number;
  bytes(count: number): Buffer;
};

const BYTES_OF_A_NUMBER = 6;
const NUMBERS_AT_ONCE = 512;

/** Draws many random numbers of 48 bits at once, because the call costs more than its numbers. */
function createRandomNumbers(): IdNumbers {
  const bytes = Buffer.alloc(NUMBERS_AT_ONCE * BYTES_OF_A_NUMBER);
  let used = bytes.length;
  return {
    bytes: randomBytes,
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

/** For jitter only: fast, and possible to guess. */
export const random: Random = () => Math.random();
