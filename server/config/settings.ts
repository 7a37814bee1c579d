/**
 * Every setting of the gateway, once, as data: name, unit, default, description and parser. The README's table of
 * settings is generated from it. Parsers are strict and say what to write instead; `config.ts` builds the
 * configuration from the parsed values.
 */
import { isIP } from 'node:net';
import {
  ADDRESS_EXAMPLES,
  looksLikeRedis,
  parseRedisAddress,
  type RedisAddress,
} from '../engines/redis/address.ts';
import { DURABILITIES } from '../engines/redis/durability.ts';
import { parseNetwork } from '../push/networks.ts';
import { isSigningSecret } from '../push/signature.ts';

/** A value that cannot be used. The message says what is wrong and what to write instead, without the setting's name. */
export class Mistake extends Error {
  override readonly name = 'Mistake';
}

/** One setting. */
export type Setting<T> = {
  /** The unit of a number, which is also the last word of the name; null for counts and texts. */
  readonly unit: string | null;
  /** As it would be written in the environment; null when there is no default. */
  readonly default: string | null;
  readonly description: string;
  /** No message contains a secret. It may also come from a file, whose path is `<NAME>_FILE`. */
  readonly secret: boolean;
  /** Throws `Mistake`. */
  readonly parse: (text: string) => T;
};

/** Where tasks are kept. */
export type StoreChoice =
  | { readonly kind: 'sqlite'; readonly file: string }
  | { readonly kind: 'redis'; readonly address: RedisAddress }
  | { readonly kind: 'memory' };

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** The secret that is valid when none is configured. It is public, so it works on a loopback address only. */
export const DEFAULT_GATEWAY_AUTH = 'task-gateway-default-secret';

/** All settings by name. */
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
  GATEWAY_AUTH_PREVIOUS: defineSecret(
    'The previous gateway secret, still accepted during rotation.',
    parseSecret,
  ),
  ADMIN_AUTH: defineSecret(
    'Secret of the administrator. By default a random one for this run, printed once at the start.',
    parseSecret,
  ),
  ADMIN_AUTH_PREVIOUS: defineSecret(
    'The previous secret of the administrator, still accepted during rotation.',
    parseSecret,
  ),
  AGENT_AUTH: defineChoice(
    ['optional', 'required'],
    'optional',
    'Whether heartbeats, results and unregistering must carry the gateway secret.',
    // The name suggests a secret, so a wrong value may be one: it is not quoted.
    () => 'this word',
  ),
  PUSH_SECRET: defineSecret(
    'Secret that signs pushes (Standard Webhooks): whsec_ and base64, or any text.',
    parsePushSecret,
  ),
  PUSH_SECRET_PREVIOUS: defineSecret(
    'The previous signing secret; pushes carry both signatures during rotation.',
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
  STORE: defineText(
    'sqlite:./data/gateway.db',
    'Where tasks are kept: sqlite:FILE; redis://HOST:PORT for several replicas on one Redis or Valkey; or memory: for trials.',
    parseStore,
  ),
  REDIS_PASSWORD: defineSecret(
    'Password of the Redis or Valkey, when STORE does not contain it.',
    parseSecret,
  ),
  REDIS_DURABILITY: defineChoice(
    DURABILITIES,
    'disk',
    'What a success response promises when STORE is a Redis: the change is on its disk, also in a replica’s memory, or in its memory.',
  ),
  LOG_LEVEL: defineChoice(LOG_LEVELS, 'info', 'The lowest level that is logged.'),
  BODY_MAX_BYTES: defineNumber('bytes', 4_194_304, 1_024, 67_108_864, 'Largest request body.'),
  OPEN_TASKS_MAX: defineNumber(
    '',
    100_000,
    1,
    10_000_000,
    'Most tasks pending or running at once; beyond: 503.',
  ),
  AGENTS_MAX: defineNumber(
    '',
    20_000,
    1,
    1_000_000,
    'Most agents in the store, offline ones included; beyond: 503.',
  ),
  STREAMS_MAX: defineNumber('', 20_000, 1, 1_000_000, 'Most event streams at once; beyond: 429.'),
  STREAMS_PER_SESSION_MAX: defineNumber(
    '',
    100,
    1,
    1_000_000,
    'Most event streams of one session at once; beyond: 429.',
  ),
  CONNECTIONS_MAX: defineNumber(
    '',
    30_000,
    1,
    1_000_000,
    'Most connections at once; beyond: closed without a response.',
  ),
  KEEP_TASKS_HOURS: defineNumber(
    'hours',
    24,
    0.01,
    8_760,
    'How long a terminal task and its event are kept.',
    true,
  ),
  SESSION_EVENTS_MAX: defineNumber(
    '',
    100_000,
    1,
    10_000_000,
    'Most events kept for one session; the oldest are dropped first.',
  ),
  PING_INTERVAL_SECONDS: defineNumber('seconds', 15, 1, 240, 'Time between the pings of an event stream.'),
  SHUTDOWN_SECONDS: defineNumber('seconds', 5, 1, 600, 'Longest time a shutdown may take.'),
} as const satisfies Readonly<Record<string, Setting<unknown>>>;

export type SettingName = keyof typeof settings;

/** The names of all settings, in the table's order. */
export function settingNames(): readonly SettingName[] {
  return Object.keys(settings) as SettingName[];
}

/** The parsed values; undefined when a setting is absent and has no default. */
export type Values = {
  readonly [K in SettingName]:
    | ReturnType<(typeof settings)[K]['parse']>
    | ((typeof settings)[K]['default'] extends string ? never : undefined);
};

function defineText<T>(fallback: string, description: string, parse: (text: string) => T) {
  return { unit: null, default: fallback, description, secret: false, parse } as const;
}

function defineSecret(description: string, parse: (text: string) => string) {
  return { unit: null, default: null, description, secret: true, parse } as const;
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
  const shape = decimal ? /^\d{1,9}(\.\d{1,9})?$/ : /^\d{1,9}$/;
  return {
    unit: unit === '' ? null : unit,
    default: String(fallback),
    description,
    secret: false,
    parse(text: string): number {
      const value = Number(text);
      if (shape.test(text) && value >= min && value <= max) return value;
      const inUnit = unit === '' ? '' : ` of ${unit}`;
      throw new Mistake(`${quote(text)} is not valid; write a ${kind}${inUnit} from ${min} to ${max}`);
    },
  } as const;
}

function parseHost(text: string): string {
  const bare = text.replace(/^\[(.*)\]$/, '$1');
  if (
    isIP(bare) !== 0 ||
    /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/i.test(bare)
  ) {
    return bare;
  }
  throw new Mistake(
    `${quote(text)} is not an address; write one such as 127.0.0.1, ::1, 0.0.0.0 or a host name`,
  );
}

/** Secrets are sent in JSON, in queries and in headers: printable ASCII without spaces is the same in all of them. */
function parseSecret(text: string): string {
  if (!/^[\x21-\x7e]{1,512}$/.test(text)) {
    throw new Mistake(
      'is not 1 to 512 printable ASCII characters without spaces; write what openssl rand -hex 32 prints',
    );
  }
  return text;
}

function parsePushSecret(text: string): string {
  if (!isSigningSecret(parseSecret(text))) {
    throw new Mistake(
      'starts with whsec_ but is not base64 after it; write whsec_ and base64, or another text',
    );
  }
  return text;
}

function parseNetworkText(text: string): string {
  if (parseNetwork(text)) return text;
  throw new Mistake(
    `${quote(text)} is not a network; write an address or a network such as 10.0.0.0/8 or fd00::/8`,
  );
}

function parseOrigin(text: string): string {
  const url = URL.parse(text);
  if (url && /^https?:$/.test(url.protocol) && url.origin === text) return text;
  throw new Mistake(
    `${quote(text)} is not an origin; write scheme, host and port only, such as https://app.example.com`,
  );
}

function parseStore(text: string): StoreChoice {
  if (text === 'memory:') return { kind: 'memory' };
  const file = text.slice('sqlite:'.length);
  if (/^sqlite:(?!\/\/)[^\0]+$/.test(text)) return { kind: 'sqlite', file };
  if (looksLikeRedis(text)) {
    const address = parseRedisAddress(text);
    if ('mistake' in address) throw new Mistake(`${address.mistake}; write ${ADDRESS_EXAMPLES}`);
    return { kind: 'redis', address };
  }
  throw new Mistake(
    `${quote(text)} is not a store; write sqlite:FILE, such as sqlite:./data/gateway.db, redis://HOST:6379 or memory:`,
  );
}

/** Quotes a text for a message: short, on one line, without the credentials that a URL may contain. */
function quote(text: string): string {
  const plain = text.replace(/\/\/.*@/, '//…@');
  return JSON.stringify(plain.length > 60 ? `${plain.slice(0, 60)}…` : plain);
}
