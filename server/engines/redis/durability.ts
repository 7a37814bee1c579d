/**
 * What a 2xx answer is worth on Redis, and whether the server at the other end can keep that word. It is asked at every
 * connection, because another server may stand in the place of the first; one that cannot is not used.
 */
import type { RedisClient, Reply } from './client.ts';

/**
 * `disk`: it is on the disk of the primary (`appendfsync always`). `replica`: it is in the memory of the primary and of
 * at least one replica. `memory`: it is in the memory of the primary, and the server's own settings say what is lost
 * with it. Under each, nobody is shown what is not as durable as that.
 */
export const DURABILITIES = ['disk', 'replica', 'memory'] as const;
export type Durability = (typeof DURABILITIES)[number];

/** The server cannot be used as it is set up; trying again does not help. */
export class UnusableServer extends Error {
  override readonly name = 'UnfitServer';
}

const MAJOR_MIN = 7;

/** Judges the server; answers what should be known of it though it is used, or throws `UnfitServer`. */
export async function validateServer(
  client: RedisClient,
  durability: Durability,
): Promise<readonly string[]> {
  const info = readInfo(String(await client.send(['INFO'])));
  const { peer } = client;
  const major = Number.parseInt(info.get('redis_version') ?? '0', 10);
  if (major < MAJOR_MIN) {
    throw new UnusableServer(
      `${peer} is version ${info.get('redis_version')}; use ${MAJOR_MIN}.0 or later, or Valkey`,
    );
  }
  const policy = info.get('maxmemory_policy') ?? 'noeviction';
  if (policy !== 'noeviction') {
    throw new UnusableServer(
      `${peer} may evict tasks (maxmemory-policy ${policy}); set maxmemory-policy noeviction`,
    );
  }
  const replicas = Number(info.get('connected_slaves') ?? 0);
  if (durability === 'replica') {
    if (replicas > 0) return [];
    throw new UnusableServer(`${peer} has no replica, which REDIS_DURABILITY=replica waits for; connect one`);
  }
  const config = await readConfig(client);
  if (!config)
    return [
      `${peer} does not let CONFIG GET be called: whether it keeps REDIS_DURABILITY=${durability} is unknown`,
    ];
  return durability === 'disk' ? validateDisk(peer, config, replicas) : warnOfMemory(peer, config);
}

/** What is not written before it is answered, and what a failover would leave behind. */
function validateDisk(
  peer: string,
  config: ReadonlyMap<string, string>,
  replicas: number,
): readonly string[] {
  const wanted = [
    ['appendonly', 'yes'],
    ['appendfsync', 'always'],
    ['no-appendfsync-on-rewrite', 'no'],
  ] as const;
  const wrong = wanted.filter(([name, value]) => (config.get(name) ?? value) !== value);
  if (wrong.length > 0) {
    const is = wrong.map(([name]) => `${name} ${config.get(name)}`).join(', ');
    const should = wrong.map(([name, value]) => `${name} ${value}`).join(', ');
    throw new UnusableServer(
      `${peer} does not write to its disk before it answers (${is}); set ${should}, ` +
        'or REDIS_DURABILITY=memory if what was accepted may be lost with Redis',
    );
  }
  if (replicas === 0) return [];
  return [
    `${peer} has replicas: after a failover, what the new primary had not received is lost; REDIS_DURABILITY=replica waits for one`,
  ];
}

function warnOfMemory(peer: string, config: ReadonlyMap<string, string>): readonly string[] {
  if (config.get('appendonly') === 'yes') {
    if (config.get('appendfsync') === 'always') return [];
    return [
      `${peer} writes to its disk later than it answers (appendfsync ${config.get('appendfsync')}): what was accepted in the last seconds is lost when it ends`,
    ];
  }
  const kept = config.get('save') === '' ? 'everything' : 'what was accepted since its last snapshot';
  return [`${peer} keeps no log on its disk (appendonly no): ${kept} is lost when it ends`];
}

/** The settings that matter; undefined where they may not be read. */
async function readConfig(client: RedisClient): Promise<ReadonlyMap<string, string> | undefined> {
  const names = ['appendonly', 'appendfsync', 'no-appendfsync-on-rewrite', 'save'];
  try {
    return pairsOf(await client.send(['CONFIG', 'GET', ...names]));
  } catch {
    return undefined;
  }
}

function pairsOf(reply: Reply): ReadonlyMap<string, string> {
  if (!Array.isArray(reply))
    return new Map(Object.entries(reply ?? {}).map(([name, value]) => [name, String(value)]));
  const texts = (reply as readonly Reply[]).map(String);
  const pairs = new Map<string, string>();
  for (let index = 0; index + 1 < texts.length; index += 2)
    pairs.set(texts[index] ?? '', texts[index + 1] ?? '');
  return pairs;
}

function readInfo(text: string): ReadonlyMap<string, string> {
  return new Map(
    [...text.matchAll(/^([a-z_]+):(.*?)\r?$/gm)].map(([, name = '', value = '']) => [name, value]),
  );
}
