/**
 * All settings of the gateway as data: name, unit, default, description and parser. SETTINGS.md has the same
 * table. `config.ts` builds the configuration from the parsed values.
 */
import { fileURLToPath } from 'node:url';
import { DURABILITIES } from '../engines/redis/client/durability.ts';
import {
  Mistake,
  parseHost,
  parseNetworkText,
  parseOrigin,
  parsePushSecret,
  parseSecret,
  parseSecrets,
  parseStore,
  quote,
} from './value-parsers.ts';

export type Setting<T> = {
  /** The unit of a number, which is also the last word of the name; null for counts and texts. */
  readonly unit: string | null;
  /** The default as a variable would have it; null if there is none. */
  readonly default: string | null;
  readonly description: string;
  /**
   * Whether the value is a secret, which no message may contain. It may hold two secrets, the newest first,
   * separated by a space.
   */
  readonly secret: boolean;
  /** Whether the value may come from the file that `<NAME>_FILE` names. All secrets may. */
  readonly file: boolean;
  /** Throws `Mistake`. */
  readonly parse: (text: string) => T;
};

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** The gateway secret if none is configured. It is public, so it is refused if other machines can call. */
export const DEFAULT_GATEWAY_AUTH = 'task-gateway-default-secret';

/** Where a person finds the page with the table: beside the sources, or beside the compiled files. */
export const SETTINGS_PAGE = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? '../SETTINGS.md' : '../../../SETTINGS.md', import.meta.url),
);

export const settings = {
  HOST: defineText('127.0.0.1', 'Address to listen on; 0.0.0.0 or :: for all addresses.', parseHost),
  PORT: defineNumber('', 8080, 0, 65_535, 'Port to listen on; 0 takes any free one.'),
  GATEWAY_AUTH: {
    ...defineSecret(
      'Shared secret of clients and agents. The default is public and works on a loopback HOST only.',
      parseSecret,
    ),
    default: DEFAULT_GATEWAY_AUTH,
  },
  ADMIN_AUTH: defineSecret(
    'Secret of the administrator. By default a random one for this run, printed once at the start.',
    parseSecret,
  ),
  AGENT_AUTH: {
    ...defineChoice(
      ['optional', 'required'],
      'optional',
      'Whether heartbeats, results and unregistering must carry the gateway secret. By default optional on a loopback HOST, required on any other.',
      // The name suggests a secret, so a wrong value may be one and is not quoted.
      () => 'this word',
    ),
    default: null,
  },
  PUSH_SECRET: defineSecret(
    'Secret that signs pushes (Standard Webhooks): whsec_ and base64, or any text.',
    parsePushSecret,
  ),
  PUSH_ALLOW: defineList(
    'Addresses and networks that pushes may go to, separated by commas; empty: all that are not denied.',
    parseNetworkText,
  ),
  PUSH_DENY: defineList(
    'Addresses and networks that pushes must not go to, separated by commas.',
    parseNetworkText,
  ),
  CORS_ORIGINS: defineList(
    'Origins of web pages that may call the gateway, separated by commas.',
    parseOrigin,
  ),
  TRUSTED_PROXIES: defineList(
    'Addresses and networks of proxies, separated by commas, whose X-Forwarded-For (or, without it, Forwarded) names the caller in the log. One remote address has at most half of the connections; loopback addresses and these proxies are not limited.',
    parseNetworkText,
  ),
  ALLOWED_HOSTS: defineList(
    'Names and addresses, separated by commas, that the gateway may be called by without a secret, and while GATEWAY_AUTH is the default; those of its own machine always may.',
    parseHost,
  ),
  STORE: {
    ...defineText(
      'sqlite:./data/gateway.db',
      'Where tasks are kept: sqlite:FILE; redis://:PASSWORD@HOST:PORT for several replicas on one Redis or Valkey; or memory: for trials.',
      parseStore,
    ),
    file: true,
  },
  REDIS_DURABILITY: defineChoice(
    DURABILITIES,
    'disk',
    'What a success response promises when STORE is a Redis: the change is on its disk, also in a replica’s memory, or in its memory.',
  ),
  METRICS_PUBLIC: defineChoice(
    ['false', 'true'],
    'false',
    'Whether /metrics needs no secret; else it needs that of the administrator.',
  ),
  CONSOLE: defineChoice(
    ['on', 'read-only', 'off'],
    'on',
    'Whether the console is served at /console; read-only: it shows everything and changes nothing, and cancelTasks and drainAgent are refused with 403.',
  ),
  LOG_LEVEL: defineChoice(LOG_LEVELS, 'info', 'The lowest level that is logged.'),
  OPEN_TASKS_MAX: {
    ...defineNumber(
      '',
      100_000,
      1,
      10_000_000,
      'Most tasks pending or running at once; beyond: 503. By default 1000000 if STORE is a file, else 100000.',
    ),
    default: null,
  },
  AGENTS_MAX: defineNumber(
    '',
    20_000,
    1,
    1_000_000,
    'Most agents in the store, offline ones included; beyond: 503.',
  ),
  CONNECTIONS_MAX: defineNumber(
    '',
    30_000,
    1,
    1_000_000,
    'Most connections at once; beyond: closed without a response. Two thirds of them may be event streams; beyond: 429.',
  ),
  KEEP_TASKS_HOURS: defineNumber(
    'hours',
    24,
    0.01,
    8_760,
    'How long a terminal task and its event are kept; below 24, an `Idempotency-Key` is kept that long too.',
    true,
  ),
  SESSION_EVENTS_MAX: defineNumber(
    '',
    100_000,
    1,
    10_000_000,
    'Most events kept for one session; the oldest are dropped first.',
  ),
  OUTPUT_TOTAL_BYTES: defineNumber(
    'bytes',
    2 ** 28,
    2 ** 20,
    2 ** 50,
    'Most bytes of all tasks’ output; beyond, tasks that ended lose theirs, the one that ended first first.',
  ),
  DRAIN_SECONDS: defineNumber(
    'seconds',
    0,
    0,
    600,
    'How long after SIGTERM connections are still accepted, while /readyz is 503; then it shuts down, and each connection closes after its next response.',
  ),
  SHUTDOWN_SECONDS: defineNumber('seconds', 5, 1, 600, 'Longest time a shutdown may take.'),
} as const satisfies Readonly<Record<string, Setting<unknown>>>;

export type SettingName = keyof typeof settings;

/** The names of all settings, in the table's order. */
export function settingNames(): readonly SettingName[] {
  return Object.keys(settings) as SettingName[];
}

/** The parsed values; undefined if a setting is absent and has no default. */
export type Values = {
  readonly [K in SettingName]:
    | ReturnType<(typeof settings)[K]['parse']>
    | ((typeof settings)[K]['default'] extends string ? never : undefined);
};

function defineText<T>(fallback: string, description: string, parse: (text: string) => T) {
  return { unit: null, default: fallback, description, secret: false, file: false, parse } as const;
}

function defineSecret(description: string, parse: (text: string) => string) {
  return {
    unit: null,
    default: null,
    description,
    secret: true,
    file: true,
    parse: (text: string): readonly string[] => parseSecrets(text, parse),
  } as const;
}

function defineChoice<const W extends string>(
  words: readonly W[],
  fallback: NoInfer<W>,
  description: string,
  describe: (text: string) => string = quote,
) {
  return defineText(fallback, `${description} One of ${words.join(', ')}.`, (value) => {
    const found = words.find((word) => word === value);
    if (found === undefined)
      throw new Mistake(`${describe(value)} is unknown; write one of ${words.join(', ')}`);
    return found;
  });
}

function defineList(description: string, parse: (text: string) => string) {
  return defineText('', description, (value): readonly string[] =>
    value
      .split(',')
      .map((entry) => entry.trim())
      .filter((entry) => entry !== '')
      .map(parse),
  );
}

function defineNumber(
  unit: string,
  fallback: number,
  min: number,
  max: number,
  description: string,
  decimal = false,
) {
  const kind = decimal ? 'number' : 'whole number';
  const shape = decimal ? /^\d{1,16}(\.\d{1,9})?$/ : /^\d{1,16}$/;
  return {
    unit: unit === '' ? null : unit,
    default: String(fallback),
    description,
    secret: false,
    file: false,
    parse(text: string): number {
      const value = Number(text);
      if (shape.test(text) && value >= min && value <= max) return value;
      const inUnit = unit === '' ? '' : ` of ${unit}`;
      throw new Mistake(`${quote(text)} is not valid; write a ${kind}${inUnit} from ${min} to ${max}`);
    },
  } as const;
}
