/**
 * One physical connection to the primary, which is never reopened. It either carries calls or subscribes,
 * because Redis cuts a subscriber whose pending replies exceed 32 MB.
 */
import { ErrorReply, RedisClient as RedisClientClass, type RedisClientOptions } from '@redis/client';
import { messageOf } from '../../../async/error-message.ts';
import { rejectOnAbort } from '../../../async/waiting.ts';
import { describeEndpoint, type Endpoint, type RedisAddress } from './address.ts';

export type Reply = string | number | boolean | null | readonly Reply[];

/** Whether the error is a reply of Redis. Any other error means that the connection failed. */
export function isErrorReply(error: unknown): boolean {
  return error instanceof ErrorReply;
}

/**
 * The primary cannot be reached now, but may be later. The message names addresses, so it is for the log
 * alone.
 */
export class Unreachable extends Error {
  override readonly name = 'Unreachable';
}

export type RedisClient = {
  /**
   * Sends a command. Replies come in the order of sending. Rejects with an error reply, or when the
   * connection is lost.
   */
  send(command: readonly string[]): Promise<Reply>;
  /**
   * Subscribes to a channel. Messages come in the order of publishing, and none is lost before the connection
   * breaks.
   */
  subscribe(channel: string, onMessage: (message: string) => void): Promise<void>;
  /** The host and port of the server, for the log. */
  readonly peer: string;
  /** Closes the connection at once. Commands under way reject. Idempotent. */
  destroy(): void;
};

/** A connection attempt that takes longer fails. */
const CONNECT_WITHIN_MS = 1_000;
const NO_REPLY = 'it does not reply';

/** The purpose of a connection. Redis lists each purpose under its own name. */
export type ConnectionUse = 'calls' | 'notifications';

const CLIENT_NAMES: Readonly<Record<ConnectionUse, string>> = {
  calls: 'task-gateway',
  notifications: 'task-gateway-notifications',
};

export type ConnectOptions = {
  readonly use: ConnectionUse;
  /** Called once with the reason when the connection is lost. Not called after `destroy()`. */
  readonly onGone: (reason: string) => void;
  /** Its abort ends the attempt to connect. It has no effect once the connection is open. */
  readonly signal: AbortSignal;
};

/**
 * Creates a client. The library's own `createClient` builds a class with a method for each command of Redis
 * whenever an option differs, which takes longer than connecting.
 */
const createClient = RedisClientClass.factory({ RESP: 3 });

/** Opens a connection to the primary. Rejects with `Unreachable`. */
export async function connectPrimary(address: RedisAddress, options: ConnectOptions): Promise<RedisClient> {
  const { at, tls } = address;
  const endpoint = at.kind === 'one' ? at.endpoint : await findPrimary(at, tls, options.signal);
  const client = await connect(endpoint, credentialsOf(address), tls, options);
  const role = await client.send(['ROLE']).catch(() => null);
  if (Array.isArray(role) && role[0] !== 'master') {
    client.destroy();
    throw new Unreachable(`${client.peer} is a replica; the store needs the primary`);
  }
  return client;
}

type Credentials = Pick<RedisClientOptions, 'username' | 'password' | 'database'>;

function credentialsOf({ username, password, database }: RedisAddress): Credentials {
  return {
    ...(username !== null && { username }),
    ...(password !== null && { password }),
    ...(database !== 0 && { database }),
  };
}

async function connect(
  endpoint: Endpoint,
  credentials: Credentials,
  tls: boolean,
  { use, onGone, signal }: ConnectOptions,
): Promise<RedisClient> {
  const peer = describeEndpoint(endpoint);
  const socket = { ...endpoint, connectTimeout: CONNECT_WITHIN_MS, reconnectStrategy: false as const };
  const client = createClient({
    ...credentials,
    name: CLIENT_NAMES[use],
    disableClientInfo: true,
    disableOfflineQueue: true,
    maintNotifications: 'disabled',
    // The client would set a timer for each call. One sleeper in `connection/connection.ts` limits all calls.
    commandOptions: { timeout: 0 },
    socket: tls ? { ...socket, tls: true } : { ...socket, noDelay: true, keepAlive: true },
  });
  let isGone = false;
  let firstError: string | null = null;
  const reportGone = (): void => {
    if (isGone) return;
    isGone = true;
    onGone(firstError ?? 'the connection was closed');
  };
  client.on('error', (error: unknown) => {
    firstError ??= messageOfFirst(error);
    if (!client.isOpen) reportGone();
  });
  client.on('end', reportGone);
  const destroy = (): void => {
    isGone = true;
    if (client.isOpen) client.destroy();
  };
  signal.addEventListener('abort', destroy, { once: true });
  try {
    signal.throwIfAborted();
    await Promise.race([client.connect(), rejectOnAbort(signal, new Error(NO_REPLY))]);
  } catch (error) {
    destroy();
    throw new Unreachable(`${peer} cannot be reached: ${messageOfFirst(error)}`);
  } finally {
    signal.removeEventListener('abort', destroy);
  }
  return {
    peer,
    send: (command) => client.sendCommand<Reply>([...command]),
    async subscribe(channel, onMessage) {
      // On a closed connection the client's own promise would never settle.
      if (!client.isOpen) throw new Unreachable(`${peer}: the connection was closed`);
      await client.subscribe(channel, onMessage);
    },
    destroy,
  };
}

/** Returns the address of the primary from the first Sentinel that replies with it. */
async function findPrimary(
  { endpoints, master }: { readonly endpoints: readonly Endpoint[]; readonly master: string },
  tls: boolean,
  signal: AbortSignal,
): Promise<Endpoint> {
  async function ask(endpoint: Endpoint): Promise<Endpoint> {
    const sentinel = await connect(endpoint, {}, tls, { use: 'calls', onGone: () => undefined, signal });
    const replied = sentinel.send(['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', master]);
    const aborted = rejectOnAbort(signal, new Error(NO_REPLY));
    const reply = await Promise.race([replied, aborted]).finally(sentinel.destroy);
    if (Array.isArray(reply)) return { host: String(reply[0]), port: Number(reply[1]) };
    throw new Unreachable(`${sentinel.peer} does not know the master ${master}`);
  }
  try {
    return await Promise.any(endpoints.map(ask));
  } catch (error) {
    const reasons = error instanceof AggregateError ? error.errors : [error];
    throw new Unreachable(`no Sentinel names the primary: ${reasons.map(messageOfFirst).join('; ')}`);
  }
}

/** A host with several addresses fails with one joint error, which has no message of its own. */
function messageOfFirst(error: unknown): string {
  const isUnnamed = error instanceof AggregateError && error.message === '';
  return messageOf(isUnnamed ? error.errors[0] : error);
}
