/** What is bounded in bytes on the way to Redis is counted in bytes: Chinese has three for a character. */
import { expect, test } from 'vitest';
import { JsonText } from '../../server/domain/json-text.ts';
import type { TaskInput } from '../../server/domain/task.ts';
import type { Reply } from '../../server/engines/redis/client/client.ts';
import { encodeCommit } from '../../server/engines/redis/commit/commit-arguments.ts';
import { NO_BARRIER } from '../../server/engines/redis/connection/barrier.ts';
import { openConnection } from '../../server/engines/redis/connection/connection.ts';
import { scripts } from '../../server/engines/redis/scripts.ts';
import { createFakeClock } from '../harness/fake-clock.ts';
import { SILENT } from '../harness/silent-log.ts';

const MIB = 2 ** 20;

test('calls under way have at most 64 MiB of arguments, whatever they are written in', async () => {
  const clock = createFakeClock();
  const replies: PromiseWithResolvers<Reply>[] = [];
  const client = {
    send() {
      const reply = Promise.withResolvers<Reply>();
      replies.push(reply);
      return reply.promise;
    },
    subscribe: async () => undefined,
    peer: 'redis',
    destroy: () => undefined,
  };
  const connection = await openConnection({
    clock,
    log: SILENT,
    prefix: 'p:',
    timeArgument: () => '',
    open: async () => ({ client, notifications: client, barrier: NO_BARRIER, epoch: 'e' }),
    onReopened: () => undefined,
  });
  const third = '中'.repeat(9 * MIB);
  const under = [1, 2].map(() => connection.call(scripts.commit, [third]));
  await expect(connection.call(scripts.commit, [third])).rejects.toThrow('too many bytes are on their way');
  for (const { resolve } of replies) resolve('done');
  expect(await Promise.all(under)).toEqual(['done', 'done']);
  await connection.close();
});

test('a commit is as large as its bytes: with 30,000 Chinese characters it is no small one', () => {
  const payload = new JsonText(JSON.stringify({ text: '中'.repeat(30_000) }));
  const value = { request_id: 't', payload } as unknown as TaskInput;
  const batch = { writes: [{ kind: 'input', id: 't', expect: 'absent', value }] } as const;
  const { args, size } = encodeCommit(batch, { revision: 'r', notAfterMs: 1 });
  expect(size).toBe(Buffer.byteLength(args.join('')));
  expect(size).toBeGreaterThan(90_000);
});
