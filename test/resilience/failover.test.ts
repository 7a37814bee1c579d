/**
 * A primary is killed, and Sentinel promotes its replica: what was acknowledged is there.
 * @module-tag redis
 */
import { afterEach, describe, expect, test, vi } from 'vitest';
import { getAdmin, submit } from '../e2e/plain-calls.ts';
import { printFigure, printTally } from '../harness/figures.ts';
import { REDIS_COMMANDS, startReplicated, startSentinel } from '../harness/redis-process.ts';
import { createAnswerHistory } from './answer-history.ts';
import { createLoad } from './load.ts';
import { createOutageChecker } from './outage-checker.ts';
import { startReplicas } from './replicas.ts';

const WAIT = { timeout: 300_000, interval: 50 };

describe.each(REDIS_COMMANDS.slice(0, 1))('two gateways on %s under a Sentinel', (command) => {
  const closing: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });

  async function start(durability: string) {
    const { primary, replica } = await startReplicated([], command);
    closing.push(primary.dispose, replica.dispose);
    const sentinel = await startSentinel(primary, command);
    closing.push(sentinel.dispose);
    await sentinel.untilKnown();
    // The first Sentinel of the list is not running; any that responds is used.
    const url = `redis+sentinel://127.0.0.1:1,127.0.0.1:${sentinel.port}/main`;
    const replicas = await startReplicas(url, 2, { REDIS_DURABILITY: durability });
    closing.push(replicas.stop);
    const untilReady = async (): Promise<void> => {
      for (const each of replicas.urls) {
        await vi.waitFor(async () => expect((await fetch(`${each}/readyz`)).status).toBe(200), WAIT);
      }
    };
    return { primary, replica, sentinel, replicas, untilReady };
  }

  test('go on with the new primary by themselves', async () => {
    const { primary, replicas, untilReady } = await start('disk');
    const [one = '', two = ''] = replicas.urls;
    await submit(one);
    await primary.kill();
    const killedMs = performance.now();
    await vi.waitFor(async () => expect((await fetch(`${one}/readyz`)).status).toBe(503), WAIT);
    await untilReady();
    printFigure('sentinel.back-after', Math.round(performance.now() - killedMs), 'ms');
    const id = await submit(one, { timeout: 600 });
    expect((await getAdmin(two, '/api/admin/tasks')).body.tasks).toContainEqual(
      expect.objectContaining({ request_id: id }),
    );
  });

  test('whose responses wait for a replica have lost nothing after the failover', {
    timeout: 300_000,
  }, async () => {
    const { primary, replica, sentinel, replicas, untilReady } = await start('replica');
    const [one = '', two = ''] = replicas.urls;
    const history = createAnswerHistory();
    const checker = createOutageChecker();
    const load = await createLoad(one, history, checker);
    closing.push(load.close);
    load.go();
    await vi.waitFor(() => expect(history.count().submitted).toBeGreaterThan(50), WAIT);
    await primary.kill();
    await vi.waitFor(async () => expect((await fetch(`${one}/readyz`)).status).toBe(503), WAIT);
    await load.pause();
    await sentinel.untilPrimary(replica);
    // Until the old primary is its replica, the new one has none, and no response rests on one copy alone.
    await primary.restart();
    await untilReady();
    for (const url of [one, two]) expect(await history.findBroken(url)).toEqual([]);
    await submit(two);
    expect(checker.broken).toEqual([]);
    printTally('sentinel.acknowledged', history.count().submitted, 'tasks');
  });
});
