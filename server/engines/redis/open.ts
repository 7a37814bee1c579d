/** Opens the Redis engine: connects, makes the connections ready, and puts the parts together. */
import { randomBytes } from 'node:crypto';
import { createSharedReads } from '../../async/shared-reads.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { Revision, Store } from '../../ports/store.ts';
import { createDueTimer } from '../due-timer.ts';
import { createNotifications } from '../notifications.ts';
import type { RedisAddress } from './client/address.ts';
import {
  type ConnectionUse,
  connectPrimary,
  isErrorReply,
  type RedisClient,
  type Reply,
  Unreachable,
} from './client/client.ts';
import { type Durability, validateServer } from './client/durability.ts';
import { createCommitGroups } from './commit/commit-groups.ts';
import { createBarrier, NO_BARRIER } from './connection/barrier.ts';
import { openConnection } from './connection/connection.ts';
import type { Opened, OpenOptions } from './connection/connection-state.ts';
import { FORMAT, PREFIX, requireFormat, requireNoOldStore } from './connection/format.ts';
import { createInspection } from './connection/server-inspection.ts';
import { createContacts } from './contacts.ts';
import { createDamageLog } from './damage-log.ts';
import { createNextDue } from './next-due.ts';
import { createAgentStatuses } from './reads/agent-status.ts';
import type { Slice } from './reads/feed.ts';
import { createValues } from './reads/values.ts';
import { createWrittenTasks } from './reads/written-tasks.ts';
import { loadScripts, runScript, scripts } from './scripts.ts';
import { createSparedLeases } from './spared-leases.ts';
import { createRedisStore, type Engine } from './store.ts';
import { createStoreTime, createTestTime, type StoreTime } from './store-time.ts';

export type RedisDeps = {
  readonly address: RedisAddress;
  readonly durability: Durability;
  readonly clock: Clock;
  readonly log: Log;
  /**
   * How long appended output waits for more output; see `commit/commit-groups.ts`. By default it does not
   * wait.
   */
  readonly outputEveryMs?: number;
  /** All keys begin with this. */
  readonly prefix?: string;
  /** Opens a physical connection; tests replace it. */
  readonly connect?: typeof connectPrimary;
  /** For tests: store time, instead of the time of Redis. */
  readonly testMs?: () => number;
  /** The wall clock of this host in epoch milliseconds, `Date.now` by default. */
  readonly wallMs?: () => number;
};

/**
 * The process that makes a task due usually takes it a moment later. Others leave it the task for this long,
 * because otherwise every process would ask for every task.
 */
const LEAVE_TO_OTHERS_MS = 100;

/** Opens the store. Rejects with one sentence if the store cannot be used. */
export async function openRedisStore(deps: RedisDeps): Promise<Store> {
  const { clock, log, testMs, outputEveryMs = 0, prefix = PREFIX, wallMs = Date.now } = deps;
  const time = testMs ? createTestTime(testMs) : createStoreTime(clock, wallMs);
  const notifications = createNotifications();
  const slices = createSharedReads<Slice>();
  const nextDue = createNextDue();
  const dueTimer = createDueTimer({ clock, notifications, nowMs: time.nowMs, earliestMs: nextDue.ms });
  const processName = createUniqueName();
  const channel = channelOf(deps.address.database);
  const ownChannel = `${channel}/${processName}`;
  const writtenTasks = createWrittenTasks(time.nowMs, deps.durability !== 'replica');
  const sparedLeases = createSparedLeases(clock);
  const parts = {
    notifications,
    slices,
    nextDue,
    dueTimer,
    time,
    clock,
    processName,
    writtenTasks,
    sparedLeases,
  };
  const onMessage = createMessageHandler(parts);
  /** To be called when this process can read again, because it may have missed changes. */
  const onReadable = (): void => {
    slices.forget();
    writtenTasks.forget();
    notifications.notifyAll();
    dueTimer.update();
  };
  const connection = await openConnection({
    clock,
    log,
    prefix,
    timeArgument: time.argument,
    open: createOpener({ ...deps, prefix, time, channel, ownChannel, onMessage, onReadable }),
    onReopened() {
      sparedLeases.noteReopened();
      onReadable();
    },
  });
  const values = createValues({ connection, prefix });
  const onApplied = createApplyHandler(parts);
  const noteDamage = createDamageLog(log);
  const groups = createCommitGroups(
    { clock, outputEveryMs, processName, channel, ownChannel, onApplied, noteDamage },
    connection.callRepeatable,
  );
  const inspection = createInspection({ ...deps, connection });
  const statuses = createAgentStatuses(noteDamage);
  const contacts = createContacts({ connection, values, statuses, clock, nowMs: time.nowMs });
  return createRedisStore({
    connection,
    values,
    groups,
    inspection,
    statuses,
    contacts,
    noteDamage,
    ...parts,
  });
}

/** Channels belong to no database, so the name of the channel contains the number of the database. */
function channelOf(database: number): string {
  return database === 0 ? 'hints' : `hints:${database}`;
}

function createUniqueName(): string {
  return randomBytes(9).toString('base64url');
}

type Listening = Pick<Engine, 'notifications' | 'slices' | 'nextDue' | 'dueTimer'>;

/** Applies the changes that commits of this process made. */
function createApplyHandler({ notifications, slices, nextDue, dueTimer }: Listening) {
  return (topics: ReadonlySet<string>, dueMs: number | undefined): void => {
    slices.forget();
    for (const topic of topics) notifications.notify(topic);
    if (dueMs === undefined) return;
    nextDue.note(dueMs);
    dueTimer.update();
  };
}

type WrittenState = readonly [request_id: string, revision: Revision, state: string];

/**
 * A message has the due time of an entry (or nothing), the process that sent it, and the changed topics with
 * small states of written tasks. A process ignores its own messages, because it knows its changes from the
 * reply.
 */
function createMessageHandler(
  parts: Listening & Pick<Engine, 'time' | 'processName' | 'writtenTasks'>,
): (message: string) => void {
  const { notifications, slices, nextDue, dueTimer, time, processName, writtenTasks } = parts;
  return (message) => {
    const [, due, sender, topics] = /^(\d*) (\S+) (.*)$/s.exec(message) ?? [];
    if (sender === processName) return;
    slices.forget();
    for (const changed of JSON.parse(topics ?? '[]') as readonly (string | WrittenState)[]) {
      if (typeof changed === 'string') notifications.notify(changed);
      else writtenTasks.learn(...changed);
    }
    if (!due) return;
    nextDue.note(Math.max(Number(due), time.nowMs() + LEAVE_TO_OTHERS_MS));
    dueTimer.update();
  };
}

type OpenerDeps = RedisDeps & {
  readonly prefix: string;
  readonly channel: string;
  readonly ownChannel: string;
  readonly time: StoreTime;
  onMessage(message: string): void;
  onReadable(): void;
};

/**
 * Opens one physical connection and makes it ready. Destroys the connection if that fails or the signal
 * fires.
 */
async function prepare(
  { address, connect = connectPrimary }: RedisDeps,
  options: OpenOptions & { readonly use: ConnectionUse },
  makeReady: (client: RedisClient) => Promise<void>,
): Promise<RedisClient> {
  const client = await connect(address, options);
  const destroy = (): void => client.destroy();
  options.signal.addEventListener('abort', destroy, { once: true });
  try {
    options.signal.throwIfAborted();
    options.onReply();
    await makeReady(noteReplies(client, options.onReply));
    return client;
  } catch (error) {
    client.destroy();
    throw error;
  } finally {
    options.signal.removeEventListener('abort', destroy);
  }
}

/** Wraps the client so that `onReply` is called at each reply. */
function noteReplies(client: RedisClient, onReply: () => void): RedisClient {
  return {
    ...client,
    async send(command) {
      const reply = await client.send(command);
      onReply();
      return reply;
    },
    async subscribe(channel, onMessage) {
      await client.subscribe(channel, onMessage);
      onReply();
    },
  };
}

/**
 * Opens pairs of connections. A pair is ready when the server is checked, one connection listens, and the
 * other has loaded the scripts and opened the store.
 */
function createOpener(deps: OpenerDeps): (epoch: string, options: OpenOptions) => Promise<Opened> {
  const { durability, clock, log, prefix, channel, ownChannel, time, onReadable } = deps;
  let warnedLast = '';

  function warn(warnings: readonly string[]): void {
    if (warnings.join() !== warnedLast) for (const warning of warnings) log.warn({}, warning);
    warnedLast = warnings.join();
  }

  async function openStore(client: RedisClient, epoch: string): Promise<string> {
    await loadScripts(client);
    const sentMs = clock.monotonicMs();
    const args = ['1', prefix, epoch, time.argument(), createUniqueName(), String(FORMAT)];
    const reply = (await runScript(client, scripts.open, args)) as readonly Reply[];
    const [format, redisMs, openedEpoch] = reply;
    requireFormat(Number(format), client.peer, deps.address.database);
    time.learn(Number(redisMs), sentMs);
    return String(openedEpoch);
  }

  return async (epoch, options) => {
    const notifications = await prepare(deps, { ...options, use: 'notifications' }, async (client) => {
      warn(await validateServer(client, durability));
      if (epoch === '') await requireNoOldStore(client, deps.address.database);
      await client.subscribe(`${prefix}${channel}`, deps.onMessage);
      await client.subscribe(`${prefix}${ownChannel}`, deps.onMessage).catch(ignoreErrorReply);
    });
    let openedEpoch = '';
    let barrier = NO_BARRIER;
    try {
      const client = await prepare(deps, { ...options, use: 'calls' }, async (calls) => {
        requireSamePeer(calls, notifications);
        openedEpoch = await openStore(calls, epoch);
        if (durability === 'replica') barrier = createBarrier(calls, prefix, onReadable);
        // A connected replica may still be far behind. The first round waits until the replica has caught up.
        await barrier.pass();
      });
      return { client, notifications, barrier, epoch: openedEpoch };
    } catch (error) {
      notifications.destroy();
      throw error;
    }
  };
}

/**
 * Redis may forbid the process its own channel. Then the scripts publish even if no other process listens.
 */
function ignoreErrorReply(error: unknown): void {
  if (!isErrorReply(error)) throw error;
}

/** During a failover, the two connections may find two servers. */
function requireSamePeer({ peer }: RedisClient, other: RedisClient): void {
  if (peer !== other.peer) throw new Unreachable(`${peer} is the primary now, no longer ${other.peer}`);
}
