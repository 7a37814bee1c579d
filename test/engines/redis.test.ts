/**
 * The Redis engine keeps the store port's promises, on every Redis or Valkey that is installed.
 * @module-tag redis
 */
import { afterAll, beforeAll, describe } from 'vitest';
import { REDIS_COMMANDS, type RedisProcess, startRedis, startReplicated } from '../harness/redis-process.ts';
import { describeStore } from './conformance.ts';
import { createRedisSubject } from './redis-under-test.ts';

describe.each(REDIS_COMMANDS)('%s', (command) => {
  let redis: RedisProcess;
  beforeAll(async () => {
    redis = await startRedis([], command);
  });
  afterAll(() => redis.dispose());
  describeStore('the Redis engine', () => createRedisSubject(redis));

  describe('whose replies wait for a replica', () => {
    let primary: RedisProcess;
    let replica: RedisProcess;
    beforeAll(async () => {
      ({ primary, replica } = await startReplicated(['--appendonly', 'no'], command));
    });
    afterAll(async () => {
      await replica.dispose();
      await primary.dispose();
    });
    describeStore('the Redis engine', () => createRedisSubject(primary, 'replica'));
  });
});
