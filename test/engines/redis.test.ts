/** The Redis engine keeps the store port's promises, on every such server that is installed. */
import { afterAll, beforeAll, describe } from 'vitest';
import { demandRedis, REDIS_COMMANDS, type RedisProcess, startRedis } from '../fakes/redis-process.ts';
import { describeStore } from './conformance.ts';
import { createRedisSubject } from './redis-subject.ts';

demandRedis('the conformance suite on Redis');

describe.each(REDIS_COMMANDS)('%s', (command) => {
  let redis: RedisProcess;
  beforeAll(async () => {
    redis = await startRedis([], command);
  });
  afterAll(() => redis.dispose());
  describeStore('the Redis engine', () => createRedisSubject(redis));
});
