/**
 * One connection to the primary: found, opened, greeted, judged. It carries calls and hints alike (RESP3), so a store
 * that can call is never deaf, and a hint that was missed shows as a connection that broke. Whoever holds it is told
 * once when it is gone; it never comes back by itself.
 */
import { createClient, ErrorReply, type RedisClientOptions } from '@redis/client';
import { describeEndpoint, type Endpoint, type RedisAddress } from './address.ts';

/** What Redis answers: texts, numbers, nothing, and lists of them. */
export type Reply = string | number | boolean | null | readonly Reply[];

/** Whether this is what Redis answered, and not the fate of a connection. */
export function isReply(error: unknown): boolean {
  return error instanceof ErrorReply;
}

/** The primary cannot be had now; it may be later. The message names addresses, which is for the log alone. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable';
}

export type RedisClient = {
  /** Sends a command; answers come in the order of sending. Rejects with what Redis says, or when it is gone. */
  send(command: readonly string[]): Promise<Reply>;
  /** Listens to a channel; each message comes before the answer to any command sent after it was published. */
  listen(channel: string, onMessage: (message: string) => void): Promise<void>;
  /** Where it leads, for people. */
  readonly peer: string;
  /** Lets go at once; whatever is under way is rejected. Twice is fine. */
  destroy(): void;
};

/** A connection that is not there by then is tried again. */
const CONNECT_WITHIN_MS = 1_000;

export type ConnectOptions = {
  /** Called once, with the reason, unless the connection was destroyed before. */
  readonly onGone: (reason: string) => void;
  /** Gives the attempt up; of no meaning once the connection is there. */
  readonly signal: AbortSignal;
};

/** Opens a connection to the primary. */
export async function connectPrimary(address: RedisAddress, options: ConnectOptions): Promise<RedisClient> {
  const { at, tls } = address;
  const endpoint = at.kind === 'one' ? at.endpoint : await askSentinels(at, tls, options.signal);
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
  { onGone, signal }: ConnectOptions,
): Promise<RedisClient> {
  const peer = describeEndpoint(endpoint);
  const position = { ...endpoint, connectTimeout: CONNECT_WITHIN_MS, reconnectStrategy: false as const };
  const client = createClient({
    ...credentials,
    RESP: 3,
    name: 'task-gateway',
    disableClientInfo: true,
    disableOfflineQueue: true,
    maintNotifications: 'disabled',
    // The line keeps the time of all calls by one sleeper; the client would set a timer for each.
    commandOptions: { timeout: 0 },
    socket: tls ? { ...position, tls: true } : { ...position, noDelay: true, keepAlive: true },
  });
  let isOver = false;
  let fault: string | null = null;
  const end = (): void => {
    if (isOver) return;
    isOver = true;
    onGone(fault ?? 'the connection was closed');
  };
  client.on('error', (error: unknown) => {
    fault ??= messageOf(error);
    if (!client.isOpen) end();
  });
  client.on('end', end);
  const destroy = (): void => {
    isOver = true;
    if (client.isOpen) client.destroy();
  };
  signal.addEventListener('abort', destroy, { once: true });
  try {
    signal.throwIfAborted();
    await Promise.race([client.connect(), rejectOnAbort(signal)]);
  } catch (error) {
    destroy();
    throw new Unreachable(`${peer} cannot be reached: ${messageOf(error)}`);
  } finally {
    signal.removeEventListener('abort', destroy);
  }
  return {
    peer,
    send: (command) => client.sendCommand<Reply>([...command]),
    listen: async (channel, onMessage) => void (await client.subscribe(channel, onMessage)),
    destroy,
  };
}

/** Which Redis is the primary now, by the word of the Sentinel that answers first. */
async function askSentinels(
  { endpoints, master }: { readonly endpoints: readonly Endpoint[]; readonly master: string },
  tls: boolean,
  signal: AbortSignal,
): Promise<Endpoint> {
  async function ask(endpoint: Endpoint): Promise<Endpoint> {
    const sentinel = await connect(endpoint, {}, tls, { onGone: () => undefined, signal });
    const question = sentinel.send(['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', master]);
    const answer = await Promise.race([question, rejectOnAbort(signal)]).finally(sentinel.destroy);
    if (Array.isArray(answer)) return { host: String(answer[0]), port: Number(answer[1]) };
    throw new Unreachable(`${sentinel.peer} does not know the master ${master}`);
  }
  try {
    return await Promise.any(endpoints.map(ask));
  } catch (error) {
    const faults = error instanceof AggregateError ? error.errors : [error];
    throw new Unreachable(`no Sentinel names the primary: ${faults.map(messageOf).join('; ')}`);
  }
}

function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const late = (): void => reject(new Error('it does not answer'));
    if (signal.aborted) late();
    else signal.addEventListener('abort', late, { once: true });
  });
}

function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return messageOf(error.errors[0]);
  return error instanceof Error ? error.message : String(error);
}
