/** Reads of single values, large ones above all: what is sent, what is missing, and what fails. */
import { describe, expect, test } from 'vitest';
import type { Reply } from '../../server/engines/redis/client/client.ts';
import type { Connection } from '../../server/engines/redis/connection/connection.ts';
import { createValues } from '../../server/engines/redis/reads/values.ts';
import { StoreRefused, StoreUnavailable } from '../../server/ports/store.ts';
import { createFakeClock } from '../harness/fake-clock.ts';

type Replies = { readonly read: readonly (Reply | Error)[]; readonly call: readonly (Reply | Error)[] };

/** Values over a connection that replies with these, one after the other; the size of a value comes first. */
function createReads(given: Replies, size: Reply | Error = 100_000) {
  const sent: string[] = [];
  const reads = [...given.read];
  const replies = [size, ...given.call];
  const connection = {
    requireUp: () => undefined,
    async read(command: readonly string[]) {
      sent.push(command.join(' '));
      const reply = reads.shift() ?? null;
      if (reply instanceof Error) throw reply;
      return reply;
    },
    async call(_script: unknown, args: readonly string[]) {
      sent.push(`script ${args.slice(1).join(' ')}`);
      const reply = replies.shift() ?? null;
      if (reply instanceof Error) throw reply;
      return [reply];
    },
  };
  const clock = createFakeClock();
  const values = createValues({ connection: connection as unknown as Connection, clock, prefix: '{p}:' });
  return { values, sent, clock };
}

describe('a large value', () => {
  test('is read by one command once its size is known, without a script', async () => {
    const { values, sent } = createReads({ read: [['text', 'r1']], call: [] });
    expect(await values.read('input', 'T')).toEqual({ json: 'text', revision: 'r1' });
    expect(sent).toEqual(['script input T', 'HMGET {p}:task:T i ir']);
  });

  test('that is not there any more was removed, as a script says that knows the store', async () => {
    const { values, sent } = createReads({ read: [[null, null]], call: [[]] });
    expect(await values.read('task', 'T')).toBeUndefined();
    expect(sent).toEqual(['script task T', 'HMGET {p}:task:T s r', 'script task T']);
  });

  test('of a store that was emptied is an error, not a value that is absent', async () => {
    const emptied = new StoreUnavailable('emptied');
    const { values } = createReads({ read: [[null, null]], call: [emptied] });
    await expect(values.read('agent', 'A')).rejects.toBe(emptied);
  });

  test('that came back small, or again large, is read as it is now', async () => {
    const small = createReads({ read: [[null, null]], call: [['small', 'r2']] });
    expect(await small.values.read('input', 'T')).toEqual({ json: 'small', revision: 'r2' });
    const large = createReads({
      read: [
        [null, null],
        ['large', 'r3'],
      ],
      call: [100_000],
    });
    expect(await large.values.read('input', 'T')).toEqual({ json: 'large', revision: 'r3' });
  });
});

test('A read that fails is an outage of its call, whatever the size of the value, and never reads as absent.', async () => {
  const cut = new StoreUnavailable('cut');
  const small = createReads({ read: [], call: [] }, cut);
  await expect(small.values.read('input', 'T')).rejects.toBe(cut);
  const large = createReads({ read: [cut], call: [] });
  await expect(large.values.read('input', 'T')).rejects.toBe(cut);
});

test('Large writes that fail give back the bytes that they held while they waited.', async () => {
  const { values } = createReads({ read: [], call: [] });
  const failing = { bytes: 60 * 2 ** 20, send: () => Promise.reject(new StoreUnavailable('cut')) };
  // 128 MiB may wait.
  for (const _ of [1, 2, 3]) await expect(values.writeLarge(failing)).rejects.toThrow('cut');
});

test('A large write that was not sent in time is refused; whether one that was sent had its effect is unknown.', async () => {
  const { values, clock } = createReads({ read: [], call: [] });
  const write = { bytes: 2 ** 21, send: () => new Promise<never>(() => undefined) };
  const late = [1, 2].map(() => values.writeLarge(write).catch((error: unknown) => error));
  await clock.advance(5_000);
  const [sent, waiting] = await Promise.all(late);
  expect(sent).toBeInstanceOf(StoreUnavailable);
  expect(sent).not.toBeInstanceOf(StoreRefused);
  expect(waiting).toBeInstanceOf(StoreRefused);
});
