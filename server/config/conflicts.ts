/**
 * The rules that concern several settings: which combinations are mistakes, and which work but deserve a
 * warning. Every message is "NAME: what is wrong; what to write instead", and none contains a secret.
 */
import { BlockList, isIP } from 'node:net';
import { INSIDE_WORDS_CHARS_MIN } from '../system/redactor.ts';
import { DEFAULT_GATEWAY_AUTH, settingNames, settings, type Values } from './settings.ts';

/**
 * Returns the mistakes between values that are valid one by one. A value that could not be parsed is
 * undefined here.
 */
export function findConflicts(values: Partial<Values>): readonly string[] {
  return [
    ...findPublicSecrets(values),
    ...findLonePreviousSecrets(values),
    ...findStoreConflicts(values),
    ...findSharedSecrets(values),
  ];
}

/** Returns a warning for each value that works but should not stay. */
export function findWarnings(values: Values): readonly string[] {
  const found: string[] = [];
  if (values.GATEWAY_AUTH === DEFAULT_GATEWAY_AUTH) {
    found.push(
      'GATEWAY_AUTH: the default secret is in use and it is PUBLIC; ' +
        'set a secret of your own (openssl rand -hex 32) before anyone else can reach the gateway',
    );
  }
  for (const name of settingNames()) {
    const value = values[name];
    if (settings[name].secret && typeof value === 'string' && value.length < SHORT_SECRET_CHARS) {
      const unseen =
        value.length < INSIDE_WORDS_CHARS_MIN ? ', and the log is not searched for it inside words' : '';
      found.push(
        `${name}: is short enough to be guessed${unseen}; write at least ${SHORT_SECRET_CHARS} characters`,
      );
    }
  }
  found.push(...findUnreadablePushSecrets(values));
  if (values.REDIS_PASSWORD !== undefined && values.STORE.kind !== 'redis') {
    found.push(
      'REDIS_PASSWORD: has no effect, because STORE is not a Redis; leave it out or set STORE to redis://HOST:6379',
    );
  }
  if (values.STORE_CLOCK !== settings.STORE_CLOCK.default && values.STORE.kind !== 'redis') {
    found.push('STORE_CLOCK: has no effect, because STORE is not a Redis; leave it out');
  }
  if (values.METRICS_PUBLIC === 'true' && !isLoopback(values.HOST)) {
    found.push(
      `METRICS_PUBLIC: any machine that reaches HOST ${values.HOST} can read /metrics without a secret; ` +
        'let only your monitoring reach it, or set METRICS_PUBLIC to false',
    );
  }
  if (areStrangersServed(values)) {
    found.push(
      `AGENT_AUTH: anyone who reaches HOST ${values.HOST} can unregister agents and report results without a ` +
        'secret; set AGENT_AUTH to required, or HOST to 127.0.0.1',
    );
  }
  if (values.STORE.kind === 'memory') {
    found.push('STORE: memory: loses every task when the gateway stops; write sqlite:FILE to keep them');
  }
  return found;
}

/** Whether the calls of agents that need no secret come from other machines too. */
export function areStrangersServed({ AGENT_AUTH, HOST }: Values): boolean {
  return AGENT_AUTH === 'optional' && !isLoopback(HOST);
}

/** Secrets that libraries for Standard Webhooks read as another key than the gateway signs with. */
function findUnreadablePushSecrets(values: Values): readonly string[] {
  return (['PUSH_SECRET', 'PUSH_SECRET_PREVIOUS'] as const).flatMap((name) => {
    const secret = values[name];
    if (secret === undefined || secret.startsWith('whsec_')) return [];
    const asText = `${name}: has no whsec_ before it, so it is used as text`;
    if (/^wh[sp]k_/.test(secret)) {
      return [`${asText}; whsk_ and whpk_ are keys of another signature (v1a): write whsec_ and base64`];
    }
    return [
      `${asText}, but libraries for Standard Webhooks read it as base64; give agents that use one what ` +
        `printf 'whsec_%s\\n' "$(printf %s "$${name}" | base64 -w 0)" prints`,
    ];
  });
}

/** A shorter secret gets a warning. */
const SHORT_SECRET_CHARS = 16;

/** The default secret, where other machines can reach the gateway. */
function findPublicSecrets(values: Partial<Values>): readonly string[] {
  const { HOST: host } = values;
  if (host === undefined || isLoopback(host)) return [];
  return (['GATEWAY_AUTH', 'GATEWAY_AUTH_PREVIOUS'] as const)
    .filter((name) => values[name] === DEFAULT_GATEWAY_AUTH)
    .map(
      (name) =>
        `${name}: the default secret is public and HOST ${host} can be reached from other machines; ` +
        'set a secret of your own (openssl rand -hex 32), or HOST to 127.0.0.1',
    );
}

/** A previous secret without a present one. */
function findLonePreviousSecrets(values: Partial<Values>): readonly string[] {
  return (['GATEWAY_AUTH', 'ADMIN_AUTH', 'PUSH_SECRET'] as const)
    .filter((name) => values[name] === undefined || values[name] === settings[name].default)
    .filter((name) => values[`${name}_PREVIOUS`] !== undefined)
    .map((name) => `${name}_PREVIOUS: ${name} is not set; set ${name} to the new secret`);
}

/** What a shared store requires, and a Redis password that is set in two places. */
function findStoreConflicts({
  STORE: store,
  ADMIN_AUTH,
  REDIS_PASSWORD,
}: Partial<Values>): readonly string[] {
  if (store?.kind !== 'redis') return [];
  const found: string[] = [];
  if (ADMIN_AUTH === undefined) {
    found.push(
      'ADMIN_AUTH: all gateways on a shared store need the same one; set it to what openssl rand -hex 32 prints',
    );
  }
  if (store.address.password !== null && REDIS_PASSWORD !== undefined) {
    found.push('REDIS_PASSWORD: STORE contains a password as well; write it in one of the two');
  }
  return found;
}

/** Two purposes with the same secret: having one secret must not give access to another purpose. */
function findSharedSecrets(values: Partial<Values>): readonly string[] {
  const found: string[] = [];
  const purposes = ['GATEWAY_AUTH', 'ADMIN_AUTH', 'PUSH_SECRET'] as const;
  const secrets: { purpose: string; name: string; value: string | undefined }[] = purposes.flatMap(
    (purpose) =>
      [purpose, `${purpose}_PREVIOUS` as const].map((name) => ({ purpose, name, value: values[name] })),
  );
  secrets.push({ purpose: 'REDIS_PASSWORD', name: 'REDIS_PASSWORD', value: readRedisPassword(values) });
  for (const [index, { purpose, name, value }] of secrets.entries()) {
    const other = secrets
      .slice(0, index)
      .find((earlier) => earlier.purpose !== purpose && earlier.value === value);
    if (value !== undefined && other) {
      found.push(`${name}: is the same as ${other.name}; give it a secret of its own`);
    }
  }
  return found;
}

function readRedisPassword({ STORE: store, REDIS_PASSWORD }: Partial<Values>): string | undefined {
  return REDIS_PASSWORD ?? (store?.kind === 'redis' ? (store.address.password ?? undefined) : undefined);
}

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/** Whether a server that listens on this host can be reached from this machine only. */
export function isLoopback(host: string): boolean {
  if (isIP(host) === 0) return host.toLowerCase() === 'localhost';
  return loopback.check(host, isIP(host) === 6 ? 'ipv6' : 'ipv4');
}
