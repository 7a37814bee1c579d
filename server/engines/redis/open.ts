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
import { openConnection } from './connection.ts';
import type { Opened } from './connection-state.ts';
import { type Durability, validateServer } from './durability.ts';
import type { Slice } from './feed.ts';
import { loadScripts, runScript, scripts } from './scripts.ts';
import { createRedisStore, type Engine } from './store.ts';
import { createStoreClock, createTestClock, type StoreClock } from './store-clock.ts';

export type RedisDeps = {
  readonly address: RedisAddress;
  /** What a commit that has resolved is worth. */
  readonly durability: Durability;
  readonly clock: Clock;
  readonly log: Log;
  /** What the names of all keys begin with. */
  readonly prefix?: string;
  /** Opens a physical connection; tests replace it. */
  readonly connect?: typeof connectPrimary;
  /** Whether the clock of Redis is believed at the start, whatever this host's says. */
  readonly isClockTrusted?: boolean;
  /** For tests: the store's time, instead of that of Redis. */
  readonly testMs?: () => number;
  /** The wall clock of this host, epoch milliseconds. Default: `Date.now`. */
  readonly wallMs?: () => number;
};

/** In braces, so that all keys of a store live in one slot of a cluster. */
const PREFIX = '{task-gateway}:';

/**
 * What another process makes due now it also takes, a moment later; this process leaves it that long.
 * Otherwise all processes would ask for each task, and the cost of a task would grow with their number.
 */
const LEAVE_TO_OTHERS_MS = 100;

/** Opens the store; rejects with one sentence when it cannot be used. */
export async function openRedisStore(deps: RedisDeps): Promise<Store> {
  const { clock, log, testMs, prefix = PREFIX } = deps;
  const { isClockTrusted = false, wallMs = Date.now } = deps;
  const time = testMs
    ? createTestClock(testMs)
    : createStoreClock({ clock, log, isRedisTrusted: isClockTrusted, wallMs });
  const notifications = createNotifications();
  const slices = createSharedReads<Slice>();
  const nextDue: Engine['nextDue'] = { ms: undefined };
  const dueTimer = createDueTimer({ clock, notifications, nowMs: time.nowMs, earliestMs: () => nextDue.ms });
  const processName = createUniqueName();
  const parts = { notifications, slices, nextDue, dueTimer, time, clock, processName };
  const connection = await openConnection({
    clock,
    log,
    prefix,
    timeArgument: time.argument,
    guardTime: time.guard,
    open: createOpener({ ...deps, prefix, time, onMessage: createMessageHandler(parts) }),
    onReopened() {
      slices.forget();
      notifications.notifyAll();
      dueTimer.update();
    },
  });
  return createRedisStore({ connection, ...parts });
}

function createUniqueName(): string {
  return randomBytes(9).toString('base64url');
}

/**
 * A message is the due time of an entry (or nothing), the process that sent it, and the topics that changed.
 */
function createMessageHandler(parts: Omit<Engine, 'connection'>): (message: string) => void {
  const { notifications, slices, nextDue, dueTimer, time, processName } = parts;
  return (message) => {
    slices.forget();
    const [, due, sender, topics] = /^(\d*) (\S+) (.*)$/s.exec(message) ?? [];
    for (const topic of JSON.parse(topics ?? '[]') as readonly string[]) notifications.notify(topic);
    if (!due) return;
    const dueMs = Number(due);
    const atMs = sender === processName ? dueMs : Math.max(dueMs, time.nowMs() + LEAVE_TO_OTHERS_MS);
    nextDue.ms = Math.min(nextDue.ms ?? Number.POSITIVE_INFINITY, atMs);
    dueTimer.update();
  };
}

type OpenerDeps = RedisDeps & {
  readonly prefix: string;
  readonly time: StoreClock;
  onMessage(message: string): void;
};

/**
 * Opens connections that are ready: the server is checked, subscribed to, and has the scripts and a store.
 */
function createOpener(deps: OpenerDeps): (epoch: string, options: ConnectOptions) => Promise<Opened> {
  const { address, durability, clock, log, prefix, time, connect = connectPrimary } = deps;
  let warnedLast = '';

  function warn(warnings: readonly string[]): void {
    if (warnings.join() !== warnedLast) for (const warning of warnings) log.warn({}, warning);
    warnedLast = warnings.join();
  }

  return async (epoch, options) => {
    const client = await connect(address, options);
    const destroy = (): void => client.destroy();
    options.signal.addEventListener('abort', destroy, { once: true });
    try {
      options.signal.throwIfAborted();
      warn(await validateServer(client, durability));
      await client.subscribe(`${prefix}hints`, deps.onMessage);
      await loadScripts(client);
      const sentMs = clock.monotonicMs();
      const args = ['1', prefix, epoch, time.argument(), createUniqueName()];
      const [reading, openedEpoch] = (await runScript(client, scripts.open, args)) as readonly Reply[];
      await time.begin(reading, sentMs, (setting) =>
        runScript(client, scripts.setClock, ['1', prefix, String(openedEpoch), '', ...setting]),
      );
      const barrier = durability === 'replica' ? createBarrier(client, prefix) : NO_BARRIER;
      // A connected replica may still be far behind; the first round waits until it is not.
      await barrier.pass();
      return { client, barrier, epoch: String(openedEpoch) };
    } catch (error) {
      client.destroy();
      throw error;
    } finally {
      options.signal.removeEventListener('abort', destroy);
    }
  };
}
