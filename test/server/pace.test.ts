/** The pace of the gateway’s own work: others run between its pieces, and little work waits for nothing. */
import { describe, expect, test } from 'vitest';
import { createPace } from '../../server/async/pace.ts';
import { yieldToEventLoop } from '../../server/async/waiting.ts';

let cpuMs = 0;
const keepPace = createPace(() => cpuMs);

/** Takes that much of the thread. */
function work(ms: number): void {
  cpuMs += ms;
}

/** In how many turns of the event loop this many pieces of work run, all begun together. */
async function countTurns(pieces: number, ms: number): Promise<number> {
  let isOver = false;
  let turns = 0;
  const counting = (async () => {
    while (!isOver) {
      await yieldToEventLoop();
      turns += 1;
    }
  })();
  await Promise.all(
    Array.from({ length: pieces }, async () => {
      await keepPace();
      work(ms);
    }),
  );
  isOver = true;
  await counting;
  return turns;
}

describe('the pace of work', () => {
  test('everything else gets a turn after some milliseconds of work', async () => {
    expect(await countTurns(64, 1)).toBeGreaterThanOrEqual(5);
  });

  test('work that takes no time runs in one turn', async () => {
    await yieldToEventLoop();
    expect(await countTurns(64, 0)).toBeLessThanOrEqual(2);
  });

  test('pieces begin in the order of the calls', async () => {
    const order: number[] = [];
    await Promise.all(
      Array.from({ length: 40 }, async (_, n) => {
        await keepPace();
        work(1);
        order.push(n);
      }),
    );
    expect(order).toEqual(order.toSorted((a, b) => a - b));
  });
});
