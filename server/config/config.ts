/**
 * Reads the settings from the environment, all at once: either a configuration or every mistake that was made, each as
 * "NAME: what is wrong; what to write instead". Nothing else in the gateway reads the environment, and no message
 * holds a secret.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { BlockList, isIP } from 'node:net';
import type { Durability } from '../engines/redis/durability.ts';
import {
  DEFAULT_GATEWAY_AUTH,
  type LogLevel,
  Mistake,
  type Setting,
  type SettingName,
  type StoreChoice,
  settings,
  type Values,
} from './settings.ts';
import { suggestSettings } from './typo-suggestions.ts';

export { DEFAULT_GATEWAY_AUTH, settings } from './settings.ts';

/** The settings as the gateway uses them. Lists of secrets hold the present one first, then the previous one. */
export type Config = {
  readonly host: string;
  readonly port: number;
  readonly gatewayAuth: readonly string[];
  readonly adminAuth: readonly string[];
  /** Nobody knows it yet: whoever starts the gateway tells it once, not through the log. */
  readonly adminAuthIsRandom: boolean;
  /** Whether heartbeat, result and unregister must carry the gateway secret. */
  readonly agentAuthRequired: boolean;
  readonly push: {
    readonly secrets: readonly string[];
    readonly allow: readonly string[];
    readonly deny: readonly string[];
  };
  readonly corsOrigins: readonly string[];
  readonly store: StoreChoice;
  /** What an answer is worth, where Redis is the store. */
  readonly redisDurability: Durability;
  readonly logLevel: LogLevel;
  readonly bodyBytesMax: number;
  readonly openTasksMax: number;
  readonly agentsMax: number;
  readonly streamsMax: number;
  readonly streamsPerSessionMax: number;
  readonly connectionsMax: number;
  readonly keepTasksMs: number;
  readonly sessionEventsMax: number;
  readonly pingIntervalMs: number;
  readonly shutdownMs: number;
  /** Everything that must not be told, for the redactor. The default gateway secret is public and not among them. */
  readonly secrets: readonly string[];
};

export type ConfigAnswer =
  | { readonly ok: true; readonly config: Config; readonly warnings: readonly string[] }
  | { readonly ok: false; readonly mistakes: readonly string[] };

export type Environment = Readonly<Record<string, string | undefined>>;

/** What config needs of the world beside the environment. */
type World = {
  /** Reads a secret's file; throws when it cannot. */
  readonly readText: (file: string) => string;
  readonly newSecret: () => string;
};

const realWorld: World = {
  readText: (file) => readFileSync(file, 'utf8'),
  newSecret: () => randomBytes(24).toString('base64url'),
};

/** Reads and judges the settings. Never throws. */
export function readConfig(env: Environment, world: World = realWorld): ConfigAnswer {
  const mistakes: string[] = [];
  const values = Object.fromEntries(
    settingNames().map((name) => [name, readSetting(name, env, world, mistakes)]),
  ) as Values;
  mistakes.push(...findConflicts(values));
  if (mistakes.length > 0) return { ok: false, mistakes };
  const warnings = [...findWeaknesses(values), ...suggestSettings(Object.keys(env), knownNames())];
  return { ok: true, config: joinConfig(values, world), warnings };
}

/** The names of all settings, in the table's order. */
export function settingNames(): readonly SettingName[] {
  return Object.keys(settings) as SettingName[];
}

/** One setting's value; undefined when it is absent, or wrong, which is then among the mistakes. */
function readSetting(name: SettingName, env: Environment, world: World, mistakes: string[]): unknown {
  const setting: Setting<unknown> = settings[name];
  const source = setting.secret && env[fileName(name)] !== undefined ? fileName(name) : name;
  try {
    const text = setting.secret ? readSecret(name, env, world) : env[name] || setting.default;
    return text === null ? undefined : setting.parse(text);
  } catch (error) {
    if (!(error instanceof Mistake)) throw error;
    const repeats = !setting.secret && repeatsSecret(env[name] ?? '', env);
    mistakes.push(
      repeats ? `${name}: holds the text of a secret; leave it out here` : `${source}: ${error.message}`,
    );
    return undefined;
  }
}

/** A secret from its variable, its file or its default. One that is empty is a mistake: it would match nothing. */
function readSecret(name: SettingName, env: Environment, world: World): string | null {
  const [text, file] = [env[name], env[fileName(name)]];
  if (text !== undefined && file !== undefined) {
    throw new Mistake(`${name} is set as well; leave one of the two out`);
  }
  const found = file === undefined ? text : readSecretFile(file, world);
  if (found === '') throw new Mistake('is empty; write a secret or leave it out');
  return found ?? settings[name].default;
}

function readSecretFile(file: string, world: World): string {
  try {
    return world.readText(file).replace(/\r?\n$/, '');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
    throw new Mistake(
      `cannot be read${code}; write the path of a file that holds the secret and nothing else`,
    );
  }
}

/** Whether a text that a message would quote holds what was written as a secret. */
function repeatsSecret(text: string, env: Environment): boolean {
  return settingNames().some((name) => {
    const secret = settings[name].secret ? (env[name] ?? '') : '';
    return secret.length >= TELLING_CHARS && text.includes(secret);
  });
}

function fileName(name: SettingName): string {
  return `${name}_FILE`;
}

/** What is wrong between settings that are right one by one. A value that could not be read is undefined here. */
function findConflicts(values: Partial<Values>): readonly string[] {
  const found: string[] = [];
  const host = values.HOST;
  for (const name of ['GATEWAY_AUTH', 'GATEWAY_AUTH_PREVIOUS'] as const) {
    if (values[name] === DEFAULT_GATEWAY_AUTH && host !== undefined && !isLoopback(host)) {
      found.push(
        `${name}: the default secret is public and HOST ${host} can be reached from elsewhere; ` +
          'set a secret of your own (openssl rand -hex 32), or HOST to 127.0.0.1',
      );
    }
  }
  for (const name of ['GATEWAY_AUTH', 'ADMIN_AUTH', 'PUSH_SECRET'] as const) {
    const lacksPresent = values[name] === undefined || values[name] === settings[name].default;
    if (values[`${name}_PREVIOUS`] !== undefined && lacksPresent) {
      found.push(`${name}_PREVIOUS: there is no ${name} after it; set ${name} to the new secret`);
    }
  }
  return [...found, ...findStoreConflicts(values), ...findSharedSecrets(values)];
}

/** What a shared store demands, and a password that is told twice. */
function findStoreConflicts({
  STORE: store,
  ADMIN_AUTH,
  REDIS_PASSWORD,
}: Partial<Values>): readonly string[] {
  if (store?.kind !== 'redis') return [];
  const found: string[] = [];
  if (ADMIN_AUTH === undefined) {
    found.push(
      'ADMIN_AUTH: every gateway on a shared store must know the same; set it to what openssl rand -hex 32 prints',
    );
  }
  if (store.address.password !== null && REDIS_PASSWORD !== undefined) {
    found.push('REDIS_PASSWORD: STORE holds a password as well; write it in one of the two');
  }
  return found;
}

/** Each duty has its own secret: whoever knows one must not know another by it. */
function findSharedSecrets(values: Partial<Values>): readonly string[] {
  const found: string[] = [];
  const duties = ['GATEWAY_AUTH', 'ADMIN_AUTH', 'PUSH_SECRET'] as const;
  const named: { duty: string; name: string; value: string | undefined }[] = duties.flatMap((duty) =>
    [duty, `${duty}_PREVIOUS` as const].map((name) => ({ duty, name, value: values[name] })),
  );
  named.push({ duty: 'REDIS_PASSWORD', name: 'REDIS_PASSWORD', value: redisPasswordOf(values) });
  named.forEach((one, place) => {
    const other = named.slice(0, place).find(({ duty, value }) => duty !== one.duty && value === one.value);
    if (one.value !== undefined && other) {
      found.push(`${one.name}: is the same as ${other.name}; give it a secret of its own`);
    }
  });
  return found;
}

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/** Whether only this machine can reach what listens there. */
export function isLoopback(host: string): boolean {
  if (isIP(host) === 0) return host.toLowerCase() === 'localhost';
  return loopback.check(host, isIP(host) === 6 ? 'ipv6' : 'ipv4');
}

function joinConfig(values: Values, world: World): Config {
  const gatewayAuth = listSecrets(values.GATEWAY_AUTH, values.GATEWAY_AUTH_PREVIOUS);
  const adminAuth = listSecrets(values.ADMIN_AUTH ?? world.newSecret(), values.ADMIN_AUTH_PREVIOUS);
  const pushSecrets = listSecrets(values.PUSH_SECRET, values.PUSH_SECRET_PREVIOUS);
  const store = joinStore(values);
  return {
    host: values.HOST,
    port: values.PORT,
    gatewayAuth,
    adminAuth,
    adminAuthIsRandom: values.ADMIN_AUTH === undefined,
    agentAuthRequired: values.AGENT_AUTH === 'required',
    push: { secrets: pushSecrets, allow: values.PUSH_ALLOW, deny: values.PUSH_DENY },
    corsOrigins: values.CORS_ORIGINS,
    store,
    redisDurability: values.REDIS_DURABILITY,
    logLevel: values.LOG_LEVEL,
    bodyBytesMax: values.BODY_MAX_BYTES,
    openTasksMax: values.OPEN_TASKS_MAX,
    agentsMax: values.AGENTS_MAX,
    streamsMax: values.STREAMS_MAX,
    streamsPerSessionMax: values.STREAMS_PER_SESSION_MAX,
    connectionsMax: values.CONNECTIONS_MAX,
    keepTasksMs: Math.round(values.KEEP_TASKS_HOURS * 3_600_000),
    sessionEventsMax: values.SESSION_EVENTS_MAX,
    pingIntervalMs: values.PING_INTERVAL_SECONDS * 1_000,
    shutdownMs: values.SHUTDOWN_SECONDS * 1_000,
    secrets: listSecrets(
      ...gatewayAuth,
      ...adminAuth,
      ...pushSecrets,
      ...pushSecrets.map(bareKey),
      ...passwordsOf(store),
    ).filter((one) => one !== DEFAULT_GATEWAY_AUTH),
  };
}

function redisPasswordOf({ STORE: store, REDIS_PASSWORD }: Partial<Values>): string | undefined {
  return REDIS_PASSWORD ?? (store?.kind === 'redis' ? (store.address.password ?? undefined) : undefined);
}

/** The store, with the password that stands apart from it. */
function joinStore({ STORE: store, REDIS_PASSWORD }: Values): StoreChoice {
  if (store.kind !== 'redis' || REDIS_PASSWORD === undefined) return store;
  return { kind: 'redis', address: { ...store.address, password: REDIS_PASSWORD } };
}

/** A password as it is, and as a URL holds it. */
function passwordsOf(store: StoreChoice): readonly string[] {
  const password = store.kind === 'redis' ? store.address.password : null;
  return password === null ? [] : [password, encodeURIComponent(password)];
}

/** A signing key is as secret without the mark it is written with. */
function bareKey(secret: string): string {
  return secret.replace(/^whsec_/, '');
}

function listSecrets(...secrets: readonly (string | undefined)[]): readonly string[] {
  return [...new Set(secrets.filter((one) => one !== undefined))];
}

/** What is shorter stands in many a text by chance. */
const TELLING_CHARS = 6;
const SHORT_SECRET_CHARS = 16;

/** What works and should not stay so. */
function findWeaknesses(values: Values): readonly string[] {
  const found: string[] = [];
  if (values.GATEWAY_AUTH === DEFAULT_GATEWAY_AUTH) {
    found.push(
      'GATEWAY_AUTH: the default secret is in use and EVERYBODY knows it; ' +
        'set a secret of your own (openssl rand -hex 32) before anybody else can reach the gateway',
    );
  }
  for (const name of settingNames()) {
    const value = values[name];
    if (settings[name].secret && typeof value === 'string' && value.length < SHORT_SECRET_CHARS) {
      found.push(`${name}: is short enough to be guessed; write at least ${SHORT_SECRET_CHARS} characters`);
    }
  }
  if (values.REDIS_PASSWORD !== undefined && values.STORE.kind !== 'redis') {
    found.push(
      'REDIS_PASSWORD: has no effect, because STORE is no Redis; leave it out or set STORE to redis://HOST:6379',
    );
  }
  if (values.STORE.kind === 'memory') {
    found.push('STORE: memory: forgets every task when the gateway ends; write sqlite:FILE to keep them');
  }
  return found;
}

/** Every variable that is read. */
function knownNames(): readonly string[] {
  return settingNames().flatMap((name) => [name, ...(settings[name].secret ? [fileName(name)] : [])]);
}
