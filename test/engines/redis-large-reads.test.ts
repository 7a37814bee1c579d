/** Reads of single values, large ones above all: what is sent, what is missing, and what fails. */
import { describe, expect, test } from 'vitest';
import type { Reply } from '../../server/engines/redis/client/client.ts';
import type { Connection } from '../../server/engines/redis/connection/connection.ts';
import { createValues } from '../../server/engines/redis/reads/values.ts';
import { StoreUnavailable } from '../../server/ports/store.ts';

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
      return reply;
    },
  };
  const values = createValues({ connection: connection as unknown as Connection, prefix: '{p}:' });
  return { values, sent };
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
