/** Opens the Redis engine: connects, makes the connection ready, and puts the parts together. */
import { randomBytes } from 'node:crypto';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { Store } from '../../ports/store.ts';
import { createDueTimer } from '../due-timer.ts';
import { createNotifications } from '../notifications.ts';
import { createSharedReads } from '../shared-reads.ts';
import type { RedisAddress } from './address.ts';
import { createBarrier, NO_BARRIER } from './barrier.ts';
import { type ConnectOptions, connectPrimary, type Reply } from './client.ts';
import { type Connection, type Opened, openConnection } from './connection.ts';
import { type Durability, validateServer } from './durability.ts';
import type { Slice } from './feed.ts';
import { loadScripts, runScript, scripts } from './scripts.ts';
import { createRedisStore } from './store.ts';
import { createStoreTime, type StoreTime } from './store-time.ts';

export type RedisDeps = {
  readonly address: RedisAddress;
  /** What a commit that has resolved is worth. */
  readonly durability: Durability;
  readonly clock: Clock;
  readonly log: Log;
  /** What all keys begin with. */
  readonly prefix?: string;
  /** How a connection is had; tests stand in between. */
  readonly connect?: typeof connectPrimary;
  /** For tests: the store's time, in place of that of Redis. */
  readonly testMs?: () => number;
};

/** In braces, so that all keys of a store live in one slot. */
const PREFIX = '{task-gateway}:';

/**
 * What another process makes due at once it takes itself, a moment later. Whoever is hinted of it waits for that: else all
 * would ask for each task, and what a task costs would grow with the number of processes.
 */
const LEAVE_TO_OTHERS_MS = 100;

/** Opens the store; rejects with one sentence when it can't be used. */
export async function openRedisStore(deps: RedisDeps): Promise<Store> {
  const { clock, log, testMs, prefix = PREFIX, connect = connectPrimary } = deps;
  const learned = createStoreTime(clock);
  const time: StoreTime = testMs ? { nowMs: testMs, learn: () => undefined } : learned;
  const tellTime = (): string => (testMs ? String(testMs()) : '');
  const name = randomBytes(9).toString('base64url');
  const notifications = createNotifications();
  const slices = createSharedReads<Slice>();
  const nextDue: { ms: number | undefined } = { ms: undefined };
  const dueTimer = createDueTimer({ clock, notifications, nowMs: time.nowMs, earliestMs: () => nextDue.ms });

  let reply = '';
  function warn(warnings: readonly string[]): void {
    if (warnings.join() !== reply) for (const warning of warnings) log.warn({}, warning);
    reply = warnings.join();
  }

  /** A hint is when something is due, or nothing; who made it so; and what changed. */
  function onHint(message: string): void {
    slices.forget();
    const [, due, by, topics] = /^(\d*) (\S+) (.*)$/s.exec(message) ?? [];
    for (const topic of JSON.parse(topics ?? '[]') as readonly string[]) notifications.notify(topic);
    if (!due) return;
    const atMs = by === name ? Number(due) : Math.max(Number(due), time.nowMs() + LEAVE_TO_OTHERS_MS);
    nextDue.ms = Math.min(nextDue.ms ?? Number.POSITIVE_INFINITY, atMs);
    dueTimer.update();
  }

  async function open(epoch: string, options: ConnectOptions): Promise<Opened> {
    const client = await connect(deps.address, options);
    const giveUp = (): void => client.destroy();
    options.signal.addEventListener('abort', giveUp, { once: true });
    try {
      options.signal.throwIfAborted();
      warn(await validateServer(client, deps.durability));
      await client.listen(`${prefix}hints`, onHint);
      await loadScripts(client);
      const sentMs = clock.monotonicMs();
      const founded = randomBytes(9).toString('base64url');
      const reply = await runScript(client, scripts.open, ['1', prefix, epoch, tellTime(), founded]);
      const [nowMs, opened] = reply as readonly Reply[];
      time.learn(Number(nowMs), sentMs);
      const barrier = deps.durability === 'replica' ? createBarrier(client, prefix) : NO_BARRIER;
      // A replica that is connected may still be far behind: the first round waits until it is not.
      await barrier.pass();
      return { client, barrier, epoch: String(opened) };
    } catch (error) {
      client.destroy();
      throw error;
    } finally {
      options.signal.removeEventListener('abort', giveUp);
    }
  }

  const connection: Connection = await openConnection({
    clock,
    log,
    prefix,
    tellTime,
    open,
    onBack() {
      slices.forget();
      notifications.notifyAll();
      dueTimer.update();
    },
  });
  return createRedisStore({ connection, notifications, slices, dueTimer, clock, time, nextDue, name });
}
