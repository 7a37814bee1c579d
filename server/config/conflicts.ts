/**
 * Rules about several settings together: which combinations are mistakes, and which deserve a warning. Each
 * message is "NAME: what is wrong; what to write instead", and none contains a secret.
 */
import { isLoopback } from '../net/networks.ts';
import { INSIDE_WORDS_CHARS_MIN } from '../system/redactor.ts';
import { DEFAULT_GATEWAY_AUTH, type SettingName, type Values } from './settings.ts';

/**
 * Finds mistakes between values that are valid alone: for example, the same secret for two purposes. Values
 * that could not be parsed are undefined here.
 */
export function findConflicts(values: Partial<Values>): readonly string[] {
  return [...findPublicSecrets(values), ...findStoreConflicts(values), ...findSharedSecrets(values)];
}

/** Finds values that work but should be changed. */
export function findWarnings(values: Values): readonly string[] {
  const found: string[] = [];
  if (values.GATEWAY_AUTH.includes(DEFAULT_GATEWAY_AUTH)) {
    found.push(
      'GATEWAY_AUTH: the default secret is in use and it is PUBLIC; ' +
        'set a secret of your own (openssl rand -hex 32) before anyone else can reach the gateway',
    );
  }
  found.push(...findShortSecrets(values), ...findUnreadablePushSecrets(values));
  if (values.METRICS_PUBLIC === 'true' && !isLoopback(values.HOST)) {
    found.push(
      `METRICS_PUBLIC: any machine that reaches HOST ${values.HOST} can read /metrics without a secret; ` +
        'let only your monitoring reach it, or set METRICS_PUBLIC to false',
    );
  }
  if (areStrangersServed(values)) {
    found.push(
      `AGENT_AUTH: anyone who reaches HOST ${values.HOST} can unregister agents and report results without a ` +
        'secret; leave AGENT_AUTH out, or set HOST to 127.0.0.1',
    );
  }
  if (values.STORE.kind === 'memory') {
    found.push('STORE: memory: loses every task when the gateway stops; write sqlite:FILE to keep them');
  }
  return found;
}

/** Whether agents must send the secret with every call. Default: if other machines can call. */
export function isAgentAuthRequired({ AGENT_AUTH, HOST }: Values): boolean {
  return AGENT_AUTH === undefined ? !isLoopback(HOST) : AGENT_AUTH === 'required';
}

/** Whether other machines may call for agents without the secret. */
export function areStrangersServed(values: Values): boolean {
  return !isAgentAuthRequired(values) && !isLoopback(values.HOST);
}

/** The secrets of each purpose, the newest first. */
function listSecrets(values: Partial<Values>): readonly { name: SettingName; secrets: readonly string[] }[] {
  return (['GATEWAY_AUTH', 'ADMIN_AUTH', 'PUSH_SECRET'] as const).map((name) => ({
    name,
    secrets: values[name] ?? [],
  }));
}

/** Begins a message about a secret: `PUSH_SECRET: `, or `PUSH_SECRET: the first secret ` if there are two. */
function describeSecret(name: SettingName, secrets: readonly string[], index: number): string {
  return `${name}: ${secrets.length === 1 ? '' : `the ${index === 0 ? 'first' : 'second'} secret `}`;
}

/** Shorter secrets get a warning. */
const SHORT_SECRET_CHARS = 16;

function findShortSecrets(values: Values): readonly string[] {
  return listSecrets(values).flatMap(({ name, secrets }) =>
    secrets.flatMap((secret, index) => {
      if (secret.length >= SHORT_SECRET_CHARS) return [];
      const unseen =
        secret.length < INSIDE_WORDS_CHARS_MIN ? ', and the log is not searched for it inside words' : '';
      const which = describeSecret(name, secrets, index);
      return [
        `${which}is short enough to be guessed${unseen}; write at least ${SHORT_SECRET_CHARS} characters`,
      ];
    }),
  );
}

/** Finds push secrets that libraries for Standard Webhooks would read as a key other than the gateway's. */
function findUnreadablePushSecrets({ PUSH_SECRET: secrets = [] }: Values): readonly string[] {
  return secrets.flatMap((secret, index) => {
    if (secret.startsWith('whsec_')) return [];
    const asText = `${describeSecret('PUSH_SECRET', secrets, index)}has no whsec_ before it, so it is used as text`;
    if (/^wh[sp]k_/.test(secret)) {
      return [`${asText}; whsk_ and whpk_ are keys of another signature (v1a): write whsec_ and base64`];
    }
    const variable = secrets.length === 1 ? '$PUSH_SECRET' : `\${PUSH_SECRET${index === 0 ? '%% *' : '#* '}}`;
    return [
      `${asText}, but libraries for Standard Webhooks read it as base64; give agents that use one what ` +
        `printf 'whsec_%s\\n' "$(printf %s "${variable}" | base64 -w 0)" prints`,
    ];
  });
}

/** Finds the default secret of a gateway that other machines can reach. */
function findPublicSecrets({ HOST: host, GATEWAY_AUTH: secrets = [] }: Partial<Values>): readonly string[] {
  if (host === undefined || isLoopback(host) || !secrets.includes(DEFAULT_GATEWAY_AUTH)) return [];
  return [
    `GATEWAY_AUTH: the default secret is public and HOST ${host} can be reached from other machines; ` +
      'set a secret of your own (openssl rand -hex 32), or HOST to 127.0.0.1',
  ];
}

/** Finds settings that a shared store requires. */
function findStoreConflicts({ STORE: store, ADMIN_AUTH }: Partial<Values>): readonly string[] {
  if (store?.kind !== 'redis' || ADMIN_AUTH !== undefined) return [];
  return [
    'ADMIN_AUTH: all gateways on a shared store need the same one; set it to what openssl rand -hex 32 prints',
  ];
}

/** Finds a secret with two purposes. A person who has it for one purpose would have the other, too. */
function findSharedSecrets(values: Partial<Values>): readonly string[] {
  const { STORE: store } = values;
  const password = store?.kind === 'redis' ? store.address.password : null;
  const purposes = listSecrets(values);
  const findEarlier = (secrets: readonly string[], end: number): SettingName | undefined =>
    purposes.slice(0, end).find((earlier) => earlier.secrets.some((secret) => secrets.includes(secret)))
      ?.name;
  const found = purposes.flatMap(({ name, secrets }, index) => {
    const other = findEarlier(secrets, index);
    return other === undefined ? [] : [`${name}: is the same as ${other}; give it a secret of its own`];
  });
  const other = password === null ? undefined : findEarlier([password], purposes.length);
  if (other !== undefined)
    found.push(`STORE: its password is the same as ${other}; give Redis one of its own`);
  return found;
}
