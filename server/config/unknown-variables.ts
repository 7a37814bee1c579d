/**
 * Finds variables without effect that a person most likely set for the gateway: for example, a setting of a
 * preview (`STREAMS_MAX`), a name that is almost a setting's (`LOG_LEVL`, `MAX_AGENTS`, `GATEWAY_SECRET`), or
 * one with the prefix of the client's variables (`TASK_GATEWAY_LOG_LEVEL`).
 */
import { editDistance } from '../domain/edit-distance.ts';
import { SETTINGS_PAGE } from './settings.ts';
import type { StoreChoice } from './value-parsers.ts';

const PREFIX = 'TASK_GATEWAY_';

/** The variables of the SDK and the command, without the prefix: often set in the same environment. */
const OF_CLIENTS = [
  ...['URL', 'AUTH', 'ADMIN_AUTH', 'AGENT_ID', 'PUSH_SECRET', 'CONFIG', 'CONTEXT', 'HEADERS', 'LOG'],
  ...['TIMEOUT_MS', 'MAX_RETRIES', 'MAX_RESPONSE_BYTES'],
];

/** Kubernetes sets these when a service has the name task-gateway; its port is `tcp://10.0.0.1:8080`. */
const OF_KUBERNETES = /^(SERVICE_|PORT_|PORT=tcp:)/;

/** Words that people use for one another at the end of a name. */
const WORDS_FOR_SECRETS = ['AUTH', 'SECRET', 'TOKEN', 'PASSWORD', 'KEY'];
const WORDS_FOR_TIMES = ['DAYS', 'HOURS', 'MINUTES', 'SECONDS', 'MS', 'TIMEOUT'];

const moveSecretTo = (name: string): string =>
  `write both secrets into ${name} or the file of ${name}_FILE, the newest first, separated by a space`;

/** By the name of an earlier setting: what to do instead of setting it. */
const REMOVED: Readonly<Record<string, string>> = {
  GATEWAY_AUTH_PREVIOUS: moveSecretTo('GATEWAY_AUTH'),
  ADMIN_AUTH_PREVIOUS: moveSecretTo('ADMIN_AUTH'),
  PUSH_SECRET_PREVIOUS: moveSecretTo('PUSH_SECRET'),
  REDIS_PASSWORD:
    'write redis://:PASSWORD@HOST:6379, with the password percent-encoded, into STORE or the file of STORE_FILE',
  STORE_CLOCK: 'leave it out: clocks are always compared, and time that is in doubt does not count',
  STREAMS_MAX: 'leave it out: two thirds of CONNECTIONS_MAX may be event streams',
  STREAMS_PER_SESSION_MAX: 'leave it out: a session may have 100 event streams',
  PING_INTERVAL_SECONDS: 'leave it out: pings are 15 seconds apart',
  BODY_MAX_BYTES: 'leave it out: a body may have 1 MiB',
};

/**
 * Returns one mistake for each variable that names an earlier setting, with what to do instead. A
 * `REDIS_PASSWORD` is a mistake only when the store is a Redis without a password: if not, it is another
 * program's, or a part of `STORE`.
 */
export function findRemoved(
  env: Readonly<Record<string, string | undefined>>,
  store: StoreChoice | undefined,
): readonly string[] {
  const lacksPassword = store?.kind === 'redis' && store.address.password === null;
  return Object.entries(REMOVED).flatMap(([name, advice]) => {
    if (name === 'REDIS_PASSWORD' && !lacksPassword) return [];
    const given = [name, `${name}_FILE`].filter((one) => env[one]);
    return given.map((one) => `${one}: is no setting any more; ${advice}`);
  });
}

/**
 * Returns one warning for each variable with almost the name of a setting, with the nearest one.
 *
 * @param env the environment
 * @param settings the variables that the gateway reads
 */
export function findTypos(
  env: Readonly<Record<string, string | undefined>>,
  settings: readonly string[],
): readonly string[] {
  return Object.entries(env).flatMap(([name, value]) => {
    if (settings.includes(name) || Object.hasOwn(REMOVED, name.replace(/_FILE$/, ''))) return [];
    const hasPrefix = name.startsWith(PREFIX);
    const meant = hasPrefix ? name.slice(PREFIX.length) : name;
    if (hasPrefix && (OF_CLIENTS.includes(meant) || OF_KUBERNETES.test(`${meant}=${value}`))) return [];
    const similar = findNearest(meant.toUpperCase(), settings);
    if (similar === undefined && !hasPrefix) return [];
    const advice = similar === undefined ? `${SETTINGS_PAGE} lists them all` : `did you mean ${similar}?`;
    return [`${name}: is not a setting and has no effect; ${advice}`];
  });
}

function findNearest(name: string, settings: readonly string[]): string | undefined {
  const isSecret = (setting: string): boolean =>
    setting.endsWith('_FILE') || settings.includes(`${setting}_FILE`);
  const [nearest] = settings
    .map((setting) => ({ setting, errors: countErrors(name, setting) }))
    .filter(({ errors }) => errors !== Number.POSITIVE_INFINITY)
    .toSorted((a, b) => a.errors - b.errors);
  return settings.find((setting) => hasSameWords(name, setting, isSecret(setting))) ?? nearest?.setting;
}

/**
 * The typing errors in a name: one at most, two in a long name, else infinite. None where it only lacks the
 * last word or words of the setting.
 */
function countErrors(name: string, setting: string): number {
  if (name.includes('_') && setting.startsWith(`${name}_`)) return 0;
  return editDistance(name, setting, setting.length < 8 ? 1 : 2);
}

/** Whether a name has the words of a setting in another order, another form, or another word for one. */
function hasSameWords(name: string, setting: string, isSecret: boolean): boolean {
  const words = setting.split('_');
  const left = name.split('_');
  if (words.length < 2 || words.length !== left.length) return false;
  const areSynonyms = (...pair: readonly [string, string]): boolean =>
    [WORDS_FOR_TIMES, ...(isSecret ? [WORDS_FOR_SECRETS] : [])].some((group) =>
      pair.every((word) => group.includes(word)),
    );
  return words.every((word) => {
    const same = left.findIndex((other) => isForm(word, other) || areSynonyms(word, other));
    return same !== -1 && left.splice(same, 1).length === 1;
  });
}

/** Whether two words differ at their ends alone: PROXY and PROXIES, AUTH and AUTHENTICATION. */
function isForm(...pair: readonly [string, string]): boolean {
  const [short = '', long = ''] = pair.toSorted((a, b) => a.length - b.length);
  return short === long || (short.length >= 4 && long.startsWith(short.slice(0, -1)));
}
