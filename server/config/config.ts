/**
 * Reads all settings from the environment at once. The result is a configuration, or all mistakes, each as
 * "NAME: what is wrong; what to write instead". Only this file and the entry read the environment. No message
 * contains a secret.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Durability } from '../engines/redis/client/durability.ts';
import type { ConsoleMode } from '../ports/admin.ts';
import { areStrangersServed, findConflicts, findWarnings, isAgentAuthRequired } from './conflicts.ts';
import {
  DEFAULT_GATEWAY_AUTH,
  type LogLevel,
  type Setting,
  type SettingName,
  settingNames,
  settings,
  type Values,
} from './settings.ts';
import { findTypos } from './unknown-variables.ts';
import { Mistake, quote, type StoreChoice } from './value-parsers.ts';

/** The settings as the gateway uses them. Lists of secrets begin with the newest. */
export type Config = {
  readonly host: string;
  readonly port: number;
  readonly gatewayAuth: readonly string[];
  /** Whether the file of the gateway secret has it in a line `GATEWAY_AUTH=…`. */
  readonly isGatewayAuthNamed: boolean;
  readonly adminAuth: readonly string[];
  /**
   * Whether the administrator's secret was generated for this run. The entry prints it once, not through the
   * log.
   */
  readonly isAdminAuthRandom: boolean;
  /** Whether heartbeats, reports and unregistering must carry the gateway secret. */
  readonly isAgentAuthRequired: boolean;
  /** Whether other machines may call for agents without the secret. Such calls must learn nothing. */
  readonly areStrangersServed: boolean;
  readonly push: {
    readonly secrets: readonly string[];
    readonly allow: readonly string[];
    readonly deny: readonly string[];
  };
  readonly corsOrigins: readonly string[];
  /** Networks of proxies that are believed when they name the caller's address. */
  readonly trustedProxies: readonly string[];
  /** Whether a gateway secret is the public default. */
  readonly isSecretPublic: boolean;
  /** More host names that the gateway may be called by; `http/host-rule.ts` says when this matters. */
  readonly allowedHosts: readonly string[];
  readonly store: StoreChoice;
  /** When a commit counts as durable, if the store is Redis. */
  readonly redisDurability: Durability;
  /** Whether `/metrics` needs no secret. */
  readonly isMetricsPublic: boolean;
  /** Whether the console is served, and whether administrators may cancel many tasks. */
  readonly consoleMode: ConsoleMode;
  readonly logLevel: LogLevel;
  readonly openTasksMax: number;
  readonly agentsMax: number;
  readonly connectionsMax: number;
  readonly keepTasksMs: number;
  readonly sessionEventsMax: number;
  readonly outputBytesMax: number;
  readonly drainMs: number;
  readonly shutdownMs: number;
  /** All texts that the redactor must remove. The default gateway secret is public and not among them. */
  readonly secrets: readonly string[];
};

export type ConfigResult =
  | { readonly ok: true; readonly config: Config; readonly warnings: readonly string[] }
  | { readonly ok: false; readonly mistakes: readonly string[] };

export type Environment = Readonly<Record<string, string | undefined>>;

/** What is needed beside the environment to read the settings. */
type ConfigDeps = {
  /** Reads the file of a setting; throws if the file cannot be read. */
  readonly readText: (file: string) => string;
  /** Generates the administrator's secret if none is set. */
  readonly newSecret: () => string;
};

const realDeps: ConfigDeps = {
  readText: (file) => readFileSync(file, 'utf8'),
  newSecret: () => randomBytes(24).toString('base64url'),
};

/** Reads and validates the settings. Never throws. */
export function readConfig(env: Environment, deps: ConfigDeps = realDeps): ConfigResult {
  const mistakes: string[] = [];
  const texts = new Map<string, string>();
  const readText = (file: string): string => {
    const text = deps.readText(file);
    texts.set(file, text);
    return text;
  };
  const reading: Reading = { env, deps: { readText, newSecret: deps.newSecret }, mistakes, named: new Set() };
  const values = Object.fromEntries(
    settingNames().map((name) => [name, readSetting(name, reading)]),
  ) as Values;
  mistakes.push(...findConflicts(values));
  // These alone are warnings, because a variable may be another program's. Beside a mistake they may be its
  // cause.
  const unread = [...findUnreadLines(env, texts), ...findTypos(env, listVariables())];
  if (mistakes.length > 0) return { ok: false, mistakes: [...mistakes, ...unread] };
  const config = buildConfig(values, deps, reading.named);
  return { ok: true, config, warnings: [...findWarnings(values), ...unread] };
}

/**
 * Warns of lines for another setting that is set nowhere. For example, the file of `GATEWAY_AUTH_FILE` has a
 * line `ADMIN_AUTH=…`.
 */
function findUnreadLines(env: Environment, texts: ReadonlyMap<string, string>): readonly string[] {
  const names = settingNames().filter((name) => settings[name].file);
  const unset = names.filter((name) => env[name] === undefined && env[fileName(name)] === undefined);
  return unset.flatMap((name) => {
    const reader = names.find((other) => {
      const lines = texts.get(env[fileName(other)] ?? '')?.split('\n') ?? [];
      return lines.some((line) => line.startsWith(`${name}=`));
    });
    if (reader === undefined) return [];
    const [its, own] = [fileName(reader), fileName(name)];
    return [`${its}: has a line ${name}=… that is not read; set ${own} to the same file`];
  });
}

/** Reads only the setting that says where tasks are kept. Throws an error whose message is for people. */
export function readStore(env: Environment): StoreChoice {
  const mistakes: string[] = [];
  const store = readSetting('STORE', { env, deps: realDeps, mistakes, named: new Set() });
  if (mistakes.length > 0) throw new Mistake(mistakes.join(' '));
  return store as StoreChoice;
}

/** The sources of the settings, and what is found while they are read. */
type Reading = {
  readonly env: Environment;
  readonly deps: ConfigDeps;
  readonly mistakes: string[];
  /** Secrets whose file has them in a line with their name. */
  readonly named: Set<SettingName>;
};

/** Reads one setting. Returns undefined if it is absent or wrong; a wrong one is added to the mistakes. */
function readSetting(name: SettingName, reading: Reading): unknown {
  const { env, mistakes } = reading;
  const setting: Setting<unknown> = settings[name];
  const isFromFile = setting.file && env[fileName(name)] !== undefined;
  let text: string | null = null;
  try {
    text = isFromFile ? readFromFile(name, reading) : readFromVariable(name, env);
    return text === null ? undefined : setting.parse(text);
  } catch (error) {
    if (!(error instanceof Mistake)) throw error;
    // The file may hold a secret by mistake, so its text is not quoted.
    const message = isFromFile ? error.message.replace(quote(text ?? ''), 'its text') : error.message;
    const repeats = !setting.secret && repeatsSecret(env[name] ?? '', env);
    mistakes.push(
      repeats
        ? `${name}: contains the text of a secret; leave it out here`
        : `${isFromFile ? fileName(name) : name}: ${message}`,
    );
    return undefined;
  }
}

/** An empty value counts as absent, but an empty secret is a mistake. */
function readFromVariable(name: SettingName, env: Environment): string | null {
  if (settings[name].secret && env[name] === '')
    throw new Mistake('is empty; write a secret or leave it out');
  return env[name] || settings[name].default;
}

/** Reads a file that holds only the value, or lines that name secrets, as for `--auth-file`. */
function readFromFile(name: SettingName, { env, deps, named }: Reading): string {
  if (settings[name].secret ? env[name] !== undefined : env[name])
    throw new Mistake(`${name} is set as well; leave one of the two out`);
  const text = readFileText(name, env[fileName(name)] ?? '', deps);
  const lines = text.split(/\r?\n/);
  const hasLineOf = (other: SettingName): boolean => lines.some((one) => one.startsWith(`${other}=`));
  if (hasLineOf(name)) named.add(name);
  else if (settingNames().some((other) => settings[other].file && hasLineOf(other)))
    throw new Mistake(`names a file with lines of other settings; write a line ${name}=… into it`);
  const line = lines.find((one) => one.startsWith(`${name}=`));
  const value = line === undefined ? text.replace(/\r?\n$/, '') : line.slice(name.length + 1);
  if (value === '') throw new Mistake(`is empty; write ${describeContent(name)} or leave it out`);
  return value;
}

function readFileText(name: SettingName, file: string, deps: ConfigDeps): string {
  try {
    return deps.readText(file);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
    throw new Mistake(
      `cannot be read${code}; write the path of a file that has ${describeContent(name)} alone, or a line ${name}=…`,
    );
  }
}

function describeContent(name: SettingName): string {
  return settings[name].secret ? 'a secret' : 'the address of a store';
}

/** Whether a text contains the value of a secret, so that a message must not quote it. */
function repeatsSecret(text: string, env: Environment): boolean {
  return settingNames().some((name) => {
    const secrets = settings[name].secret ? (env[name] ?? '').split(' ') : [];
    return secrets.some((secret) => secret.length >= SEARCHED_SECRET_CHARS_MIN && text.includes(secret));
  });
}

/** Shorter secrets are not searched for, because they occur in many texts by coincidence. */
const SEARCHED_SECRET_CHARS_MIN = 6;

function fileName(name: SettingName): string {
  return `${name}_FILE`;
}

function buildConfig(values: Values, deps: ConfigDeps, named: ReadonlySet<SettingName>): Config {
  const { STORE: store, GATEWAY_AUTH: gatewayAuth, PUSH_SECRET: pushSecrets = [] } = values;
  const adminAuth = values.ADMIN_AUTH ?? [deps.newSecret()];
  return {
    host: values.HOST,
    port: values.PORT,
    gatewayAuth,
    isGatewayAuthNamed: named.has('GATEWAY_AUTH'),
    adminAuth,
    isAdminAuthRandom: values.ADMIN_AUTH === undefined,
    isAgentAuthRequired: isAgentAuthRequired(values),
    areStrangersServed: areStrangersServed(values),
    push: { secrets: pushSecrets, allow: values.PUSH_ALLOW, deny: values.PUSH_DENY },
    corsOrigins: values.CORS_ORIGINS,
    trustedProxies: values.TRUSTED_PROXIES,
    isSecretPublic: gatewayAuth.includes(DEFAULT_GATEWAY_AUTH),
    allowedHosts: values.ALLOWED_HOSTS,
    store,
    redisDurability: values.REDIS_DURABILITY,
    isMetricsPublic: values.METRICS_PUBLIC === 'true',
    consoleMode: values.CONSOLE,
    logLevel: values.LOG_LEVEL,
    openTasksMax: values.OPEN_TASKS_MAX ?? (store.kind === 'sqlite' ? 1_000_000 : 100_000),
    agentsMax: values.AGENTS_MAX,
    connectionsMax: values.CONNECTIONS_MAX,
    keepTasksMs: Math.round(values.KEEP_TASKS_HOURS * 3_600_000),
    sessionEventsMax: values.SESSION_EVENTS_MAX,
    outputBytesMax: values.OUTPUT_TOTAL_BYTES,
    drainMs: values.DRAIN_SECONDS * 1_000,
    shutdownMs: values.SHUTDOWN_SECONDS * 1_000,
    secrets: [
      ...new Set([
        ...gatewayAuth,
        ...adminAuth,
        ...pushSecrets,
        ...pushSecrets.map(removeKeyPrefix),
        ...listPasswords(store),
      ]),
    ].filter((secret) => secret !== DEFAULT_GATEWAY_AUTH),
  };
}

/** Lists the password of a Redis in both its forms: plain, and as a URL has it. */
function listPasswords(store: StoreChoice): readonly string[] {
  const password = store.kind === 'redis' ? store.address.password : null;
  return password === null ? [] : [password, encodeURIComponent(password)];
}

/** The signing key without its prefix is a secret too. */
function removeKeyPrefix(secret: string): string {
  return secret.replace(/^whsec_/, '');
}

/** Lists the names of all variables that the gateway reads. */
function listVariables(): readonly string[] {
  return settingNames().flatMap((name) => [name, ...(settings[name].file ? [fileName(name)] : [])]);
}
