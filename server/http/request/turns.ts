/**
 * Work that is done one piece at a time, with a turn of the event loop before each. Pieces of different
 * remote addresses take turns, so that one that brings much work delays the next of another by one piece.
 *
 * Costs one entry for each piece that waits.
 */
import { yieldToEventLoop } from '../../async/waiting.ts';

/** Resolves or rejects as the work does, once its turn has come. */
export type TakeTurn = <T>(address: string | null, work: () => Promise<T>) => Promise<T>;

/** Creates the turns; nothing waits yet. */
export function createTurns(): TakeTurn {
  // The waiting pieces by their address, in the order in which the addresses have their turns.
  const waiting = new Map<string | null, (() => Promise<void>)[]>();
  let isRunning = false;

  async function run(): Promise<void> {
    isRunning = true;
    for (let next = waiting.entries().next(); !next.done; next = waiting.entries().next()) {
      const [address, pieces] = next.value;
      waiting.delete(address);
      const piece = pieces.shift();
      if (pieces.length > 0) waiting.set(address, pieces);
      await yieldToEventLoop();
      await piece?.();
    }
    isRunning = false;
  }

  return (address, work) =>
    new Promise((resolve, reject) => {
      const piece = (): Promise<void> => work().then(resolve, reject);
      const pieces = waiting.get(address);
      if (pieces) pieces.push(piece);
      else waiting.set(address, [piece]);
      if (!isRunning) void run();
    });
}
