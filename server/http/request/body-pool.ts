/** The bytes that all request bodies being read may hold together. */
import { Problem } from '../problems.ts';

/** What one body holds of the pool. */
type Reservation = {
  /** Sets the reservation to so many bytes; throws a `Problem` (503) when the pool has too few left. */
  growTo(bytes: number): void;
  /** Returns everything to the pool. Idempotent. */
  release(): void;
};

export type BodyPool = {
  /** Opens a reservation of no bytes. */
  open(): Reservation;
};

/** Creates the pool. */
export function createBodyPool(bytesMax: number): BodyPool {
  let reservedBytes = 0;
  return {
    open() {
      let ownBytes = 0;
      return {
        growTo(bytes) {
          if (reservedBytes - ownBytes + bytes > bytesMax) throw tooMany();
          reservedBytes += bytes - ownBytes;
          ownBytes = bytes;
        },
        release() {
          reservedBytes -= ownBytes;
          ownBytes = 0;
        },
      };
    },
  };
}

function tooMany(): Problem {
  return new Problem(
    'busy',
    'Too many large bodies are arriving right now. Send the request again after `Retry-After`.',
  );
}
