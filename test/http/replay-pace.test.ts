/** A long replay to a quick reader lets everything else run in between. */
import { afterEach, describe, expect, test } from 'vitest';
import type { StreamItem } from '../../server/ports/gateway.ts';
import { idleFeed } from './fake-gateway.ts';
import { buildItem, endStreams, startStreamServer, subscribe } from './stream-harness.ts';

afterEach(endStreams);

const nextTick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('a replay to a quick reader', () => {
  test('leaves a tick to other work every few events', async () => {
    let taken = 0;
    const perTurn: number[] = [];
    async function* feed(
      _session: string,
      _after: string | null,
      signal: AbortSignal,
    ): AsyncGenerator<StreamItem> {
      for (let index = 0; index < 500; index += 1) {
        taken += 1;
        yield buildItem(index, 'x');
      }
      yield* idleFeed(signal);
    }
    const server = await startStreamServer(feed);
    const reading = subscribe(server).then((reader) => reader.readUntil('null}\n\n', 500));
    while (taken < 500) {
      const before = taken;
      await nextTick();
      perTurn.push(taken - before);
    }
    expect(await reading).toContain('"request_id":"r499"');
    // Eight, and the event that is read ahead; a tick may end a moment after the count.
    expect(Math.max(...perTurn)).toBeLessThanOrEqual(2 * 9);
  });
});
