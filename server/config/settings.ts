/**
 * Every setting of the gateway, once, as data: its name, unit, default, what it means and how it is read. The README's
 * table is this one. Readers are strict and say what to write instead; `config.ts` joins what they read.
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

/** A text that cannot be used: what is wrong and what to write instead, without the setting's name. */
export class Mistake extends Error {
  override readonly name = 'Mistake';
}

/** One setting. `parse` throws `Mistake`. */
export type Setting<T> = {
  /** What the number counts; null for words. The unit is the last word of the name. */
  readonly unit: string | null;
  /** As it would be written in the environment; null: nothing. */
  readonly default: string | null;
  readonly description: string;
  /** A secret is never told in a message and may come from a file: `<NAME>_FILE` names it. */
  readonly secret: boolean;
  readonly parse: (text: string) => T;
};

/** Where tasks are kept. */
export type StoreChoice =
  | { readonly kind: 'sqlite'; readonly file: string }
  | { readonly kind: 'redis'; readonly address: RedisAddress }
  | { readonly kind: 'memory' };

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** The secret that works when none is configured (§5.5). Everybody knows it: it serves on this machine alone. */
export const DEFAULT_GATEWAY_AUTH = 'task-gateway-default-secret';

/** All settings by name. */
export const settings = {
  HOST: word('127.0.0.1', 'Address to listen on; 0.0.0.0 or :: for all of them.', parseHost),
  PORT: number('', 8080, 0, 65_535, 'Port to listen on; 0 takes any free one.'),
  GATEWAY_AUTH: {
    ...secret(
      'Shared secret of clients and agents. The default is public: only for this machine.',
      parseSecret,
    ),
    default: DEFAULT_GATEWAY_AUTH,
  },
  GATEWAY_AUTH_PREVIOUS: secret('The secret before this one; accepted too while it is rotated.', parseSecret),
  ADMIN_AUTH: secret(
    'Secret of the administrator. Absent: a random one for this run, told once.',
    parseSecret,
  ),
  ADMIN_AUTH_PREVIOUS: secret('The administrator’s secret before this one.', parseSecret),
  AGENT_AUTH: oneOf(
    ['optional', 'required'],
    'optional',
    'Whether heartbeats, results and unregistering must carry the gateway secret.',
    // Its name is like a secret's, and so is then what somebody writes there by mistake: it is not repeated.
    () => 'this word',
  ),
  PUSH_SECRET: secret('Signs pushes (Standard Webhooks): whsec_ and base64, or any text.', parsePushSecret),
  PUSH_SECRET_PREVIOUS: secret('Signs pushes as well, so that agents can change over.', parsePushSecret),
  PUSH_ALLOW: list(
    'Addresses and networks pushes may go to, by comma; empty: all but the denied.',
    parseRange,
  ),
  PUSH_DENY: list('Addresses and networks pushes must not go to, by comma.', parseRange),
  CORS_ORIGINS: list('Origins of web pages that may call the gateway, by comma.', parseOrigin),
  STORE: word(
    'sqlite:./data/gateway.db',
    'Where tasks are kept: sqlite:FILE; a Redis or Valkey for several replicas, redis://HOST:PORT; or memory: to try things.',
    parseStore,
  ),
  REDIS_PASSWORD: secret('Password of the Redis or Valkey, when STORE does not hold it.', parseSecret),
  REDIS_DURABILITY: oneOf(
    DURABILITIES,
    'disk',
    'What an answer is worth with Redis: on its disk, also in a replica’s memory, or in its memory.',
  ),
  LOG_LEVEL: oneOf(LOG_LEVELS, 'info', 'The least important thing that is logged.'),
  BODY_MAX_BYTES: number('bytes', 4_194_304, 1_024, 67_108_864, 'Largest request body.'),
  OPEN_TASKS_MAX: number('', 100_000, 1, 10_000_000, 'Tasks pending or running at once; beyond: 503.'),
  AGENTS_MAX: number('', 20_000, 1, 1_000_000, 'Agents on record; beyond: 503.'),
  STREAMS_MAX: number('', 20_000, 1, 1_000_000, 'Event streams at once; beyond: 429.'),
  STREAMS_PER_SESSION_MAX: number('', 100, 1, 1_000_000, 'Event streams of one session; beyond: 429.'),
  CONNECTIONS_MAX: number('', 30_000, 1, 1_000_000, 'Connections at once; beyond: closed unanswered.'),
  KEEP_TASKS_HOURS: number('hours', 24, 0.01, 8_760, 'How long an ended task and its event are kept.', true),
  SESSION_EVENTS_MAX: number('', 100_000, 1, 10_000_000, 'Events kept for one session; the oldest go first.'),
  PING_INTERVAL_SECONDS: number('seconds', 15, 1, 240, 'Pause between the pings of an event stream.'),
  SHUTDOWN_SECONDS: number('seconds', 5, 1, 600, 'Longest time a shutdown may take.'),
} as const satisfies Readonly<Record<string, Setting<unknown>>>;

export type SettingName = keyof typeof settings;

/** What each setting was read to; undefined when it is absent and has no default. */
export type Values = {
  readonly [K in SettingName]:
    | ReturnType<(typeof settings)[K]['parse']>
    | ((typeof settings)[K]['default'] extends string ? never : undefined);
};

function word<T>(fallback: string, description: string, parse: (text: string) => T) {
  return { unit: null, default: fallback, description, secret: false, parse } as const;
}

function secret(description: string, parse: (text: string) => string) {
  return { unit: null, default: null, description, secret: true, parse } as const;
}

function oneOf<const W extends string>(
  words: readonly W[],
  fallback: NoInfer<W>,
  description: string,
  tell: (text: string) => string = quote,
) {
  return word(fallback, `${description} One of ${words.join(', ')}.`, (text) => {
    const found = words.find((one) => one === text);
    if (found === undefined) throw new Mistake(`${tell(text)} is unknown; write one of ${words.join(', ')}`);
    return found;
  });
}

function list(description: string, parse: (text: string) => string) {
  return word('', description, (text): readonly string[] =>
    text
      .split(',')
      .map((one) => one.trim())
      .filter((one) => one !== '')
      .map(parse),
  );
}

function number(
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
      throw new Mistake(`${quote(text)} does not do; write a ${kind}${inUnit} from ${min} to ${max}`);
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
  throw new Mistake(`${quote(text)} is no address; write one such as 127.0.0.1, ::1, 0.0.0.0 or a host name`);
}

/** Secrets travel in JSON, in queries and in headers: what is printable ASCII without spaces means the same in all. */
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
      'opens with whsec_ but does not go on as base64; write whsec_ and base64, or another text',
    );
  }
  return text;
}

function parseRange(text: string): string {
  if (parseNetwork(text)) return text;
  throw new Mistake(
    `${quote(text)} is no network; write an address or a network such as 10.0.0.0/8 or fd00::/8`,
  );
}

function parseOrigin(text: string): string {
  const url = URL.parse(text);
  if (url && /^https?:$/.test(url.protocol) && url.origin === text) return text;
  throw new Mistake(
    `${quote(text)} is no origin; write scheme, host and port only, such as https://app.example.com`,
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
    `${quote(text)} is no store; write sqlite:FILE, such as sqlite:./data/gateway.db, redis://HOST:6379 or memory:`,
  );
}

/** A text as a message shows it: short, on one line, without the credentials a URL may hold. */
function quote(text: string): string {
  const plain = text.replace(/\/\/.*@/, '//…@');
  return JSON.stringify(plain.length > 60 ? `${plain.slice(0, 60)}…` : plain);
}
