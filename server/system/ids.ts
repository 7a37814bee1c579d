/** Real names and real chance, from the system's random source. */
import { randomBytes, randomUUIDv7 } from 'node:crypto';
import type { Chance, Ids } from '../ports/clock.ts';

/** Creates the source of names: UUIDv7 for tasks (opaque to clients, §2.1), 96 random bits for registrations. */
export function createIds(): Ids {
  return {
    newRequestId: () => randomUUIDv7(),
    newRegistration: () => randomBytes(12).toString('base64url'),
  };
}

/** For jitter alone, so speed counts and nobody gains by guessing. */
export const chance: Chance = () => Math.random();
