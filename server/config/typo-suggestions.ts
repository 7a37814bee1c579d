/**
 * Finds variables that were most likely set for the gateway and have no effect: their name is almost
 * that of a setting (`LOG_LEVL`), or has the prefix of the client's variables (`TASK_GATEWAY_LOG_LEVEL`).
 */
import { editDistance } from '../domain/edit-distance.ts';

const PREFIX = 'TASK_GATEWAY_';

/** What the SDK and the command read, without the prefix: often set in the same environment. */
const OF_CLIENTS = [
  ...['URL', 'AUTH', 'ADMIN_AUTH', 'AGENT_ID', 'PUSH_SECRET', 'CONFIG', 'CONTEXT', 'HEADERS', 'LOG'],
  ...['TIMEOUT_MS', 'MAX_RETRIES', 'MAX_RESPONSE_BYTES'],
];

/** What Kubernetes sets beside a service of the name task-gateway; its port is `tcp://10.0.0.1:8080`. */
const OF_KUBERNETES = /^(SERVICE_|PORT_|PORT=tcp:)/;

/**
 * Returns one warning for each such variable, with a suggestion.
 *
 * @param env the environment
 * @param settings the variables that the gateway reads
 */
export function findTypos(
  env: Readonly<Record<string, string | undefined>>,
  settings: readonly string[],
): readonly string[] {
  return Object.entries(env).flatMap(([name, value]) => {
    if (settings.includes(name)) return [];
    const hasPrefix = name.startsWith(PREFIX);
    const meant = hasPrefix ? name.slice(PREFIX.length) : name;
    if (hasPrefix && (OF_CLIENTS.includes(meant) || OF_KUBERNETES.test(`${meant}=${value}`))) return [];
    const similar = settings.find((setting) => setting === meant || isSimilar(meant.toUpperCase(), setting));
    if (similar === undefined && !hasPrefix) return [];
    const advice = similar === undefined ? 'SETTINGS.md lists them all' : `did you mean ${similar}?`;
    return [`${name}: is not a setting and has no effect; ${advice}`];
  });
}

/**
 * Whether a name has one typing error (two in a long name), or lacks the last word or words of the setting.
 */
function isSimilar(name: string, setting: string): boolean {
  const errorsMax = setting.length < 8 ? 1 : 2;
  if (name.includes('_') && setting.startsWith(`${name}_`)) return true;
  return editDistance(name, setting, errorsMax) <= errorsMax;
}
