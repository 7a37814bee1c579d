/** The barrier of `REDIS_DURABILITY=replica`: what it waits for, and whom it wakes after an outage. */
import { expect, test } from 'vitest';
import type { RedisClient, Reply } from '../../server/engines/redis/client/client.ts';
import { createBarrier } from '../../server/engines/redis/connection/barrier.ts';

test('When a replica acknowledges again, readers are woken once: they could not read what they were notified of.', async () => {
  const acknowledged = [1, 0, 0, 1, 1];
  const send = async (command: readonly string[]): Promise<Reply> =>
    command[0] === 'WAIT' ? (acknowledged.shift() ?? 0) : null;
  let woken = 0;
  const barrier = createBarrier({ send } as unknown as RedisClient, 'p:', () => {
    woken += 1;
  });
  await barrier.pass();
  for (const _ of [1, 2]) await expect(barrier.pass()).rejects.toThrow('No replica');
  expect(woken).toBe(0);
  for (const _ of [1, 2]) await barrier.pass();
  expect(woken).toBe(1);
});
