/**
 * How durable a 2xx response is on Redis, and whether the server can keep that promise. A server that cannot
 * is not used. Every new connection checks this, because another server may have replaced the first.
 * `connection/server-inspection.ts` checks it again now and then, because a person may change settings.
 */
import type { RedisClient, Reply } from './client.ts';

/**
 * Where a write must be before its caller or a reader is told of it.
 *
 * - `disk`: on the disk of the primary (`appendfsync always`).
 * - `replica`: in the memory of the primary and of at least one replica.
 * - `memory`: in the memory of the primary, whose settings decide what a crash loses.
 */
export const DURABILITIES = ['disk', 'replica', 'memory'] as const;
export type Durability = (typeof DURABILITIES)[number];

/** The server cannot be used with its present settings, so another attempt is useless. */
export class UnusableServer extends Error {
  override readonly name = 'UnusableServer';
}

const MAJOR_MIN = 7;

/** Checks the server. Resolves with warnings for the log, or rejects with `UnusableServer`. */
export async function validateServer(
  client: RedisClient,
  durability: Durability,
): Promise<readonly string[]> {
  const info = parseInfo(await client.send(['INFO']));
  const { peer } = client;
  const major = Number.parseInt(info.get('redis_version') ?? '0', 10);
  if (major < MAJOR_MIN) {
    throw new UnusableServer(
      `${peer} is version ${info.get('redis_version')}; use ${MAJOR_MIN}.0 or later, or Valkey`,
    );
  }
  requireNoEviction(peer, info);
  const replicas = Number(info.get('connected_slaves') ?? 0);
  if (durability === 'replica') {
    if (replicas > 0) return [];
    throw new UnusableServer(`${peer} has no replica, which REDIS_DURABILITY=replica requires; connect one`);
  }
  const config = await readConfig(client);
  if (!config)
    return [
      `${peer} does not let CONFIG GET be called: whether it keeps REDIS_DURABILITY=${durability} is unknown`,
    ];
  if (durability === 'memory') return warnOfMemory(peer, config);
  requireDisk(peer, config);
  return warnOfFailover(peer, replicas);
}

/** Rejects with `UnusableServer` if the settings no longer keep the promise. */
export async function validateSettings(client: RedisClient, durability: Durability): Promise<void> {
  const config = durability === 'disk' ? await readConfig(client) : undefined;
  if (config) requireDisk(client.peer, config);
}

/** Throws `UnusableServer` if Redis may remove keys to free memory. `info` must have the section `memory`. */
export function requireNoEviction(peer: string, info: ReadonlyMap<string, string>): void {
  const policy = info.get('maxmemory_policy') ?? 'noeviction';
  if (policy === 'noeviction') return;
  throw new UnusableServer(
    `${peer} may evict tasks (maxmemory-policy ${policy}); set maxmemory-policy noeviction`,
  );
}

/** Throws if the server replies before it has written to its disk. */
function requireDisk(peer: string, config: ReadonlyMap<string, string>): void {
  const required = [
    ['appendonly', 'yes'],
    ['appendfsync', 'always'],
    ['no-appendfsync-on-rewrite', 'no'],
  ] as const;
  const wrong = required.filter(([name, value]) => (config.get(name) ?? value) !== value);
  if (wrong.length === 0) return;
  const actual = wrong.map(([name]) => `${name} ${config.get(name)}`).join(', ');
  const expected = wrong.map(([name, value]) => `${name} ${value}`).join(', ');
  throw new UnusableServer(
    `${peer} does not write to its disk before it replies (${actual}); set ${expected}, ` +
      'or REDIS_DURABILITY=memory if accepted tasks may be lost with Redis',
  );
}

function warnOfFailover(peer: string, replicas: number): readonly string[] {
  if (replicas === 0) return [];
  return [
    `${peer} has replicas: after a failover, what the new primary had not received is lost; REDIS_DURABILITY=replica waits for a replica`,
  ];
}

function warnOfMemory(peer: string, config: ReadonlyMap<string, string>): readonly string[] {
  if (config.get('appendonly') === 'yes') {
    if (config.get('appendfsync') === 'always') return [];
    return [
      `${peer} writes to its disk after it replies (appendfsync ${config.get('appendfsync')}): what was accepted in the last seconds is lost when it crashes`,
    ];
  }
  const lost = config.get('save') === '' ? 'everything' : 'what was accepted since its last snapshot';
  return [`${peer} keeps no log on its disk (appendonly no): ${lost} is lost when it crashes`];
}

/** Reads the settings that decide durability; undefined if CONFIG GET is not allowed. */
async function readConfig(client: RedisClient): Promise<ReadonlyMap<string, string> | undefined> {
  const names = ['appendonly', 'appendfsync', 'no-appendfsync-on-rewrite', 'save'];
  try {
    return parsePairs(await client.send(['CONFIG', 'GET', ...names]));
  } catch {
    return undefined;
  }
}

/** Reads names and values, which come as a map or as a flat list. */
function parsePairs(reply: Reply): ReadonlyMap<string, string> {
  if (!Array.isArray(reply))
    return new Map(Object.entries(reply ?? {}).map(([name, value]) => [name, String(value)]));
  const texts = (reply as readonly Reply[]).map(String);
  const pairs = new Map<string, string>();
  for (let index = 0; index + 1 < texts.length; index += 2)
    pairs.set(texts[index] ?? '', texts[index + 1] ?? '');
  return pairs;
}

export function parseInfo(reply: Reply): ReadonlyMap<string, string> {
  return new Map(
    [...String(reply).matchAll(/^([a-z_]+):(.*?)\r?$/gm)].map(([, name = '', value = '']) => [name, value]),
  );
}
