/**
 * Finds variables without effect that were probably meant for the gateway: a name that is almost a setting's
 * (`LOG_LEVL`), or a name with the prefix of the client's variables (`TASK_GATEWAY_LOG_LEVEL`).
 */
import { editDistance } from '../domain/edit-distance.ts';
import { SETTINGS_PAGE } from './settings.ts';

const PREFIX = 'TASK_GATEWAY_';

/**
 * The variables of the SDK and the command, without the prefix. They are often set in the same environment.
 */
const OF_CLIENTS = [
  ...['URL', 'AUTH', 'ADMIN_AUTH', 'AGENT_ID', 'PUSH_SECRET', 'CONFIG', 'CONTEXT', 'HEADERS', 'LOG'],
  ...['TIMEOUT_MS', 'MAX_RETRIES', 'MAX_RESPONSE_BYTES'],
];

/** Variables that Kubernetes sets for a service named task-gateway. Its port is `tcp://10.0.0.1:8080`. */
const OF_KUBERNETES = /^(SERVICE_|PORT_|PORT=tcp:)/;

/**
 * Returns one warning for each such variable, with the nearest setting.
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
    const similar = findNearest(meant.toUpperCase(), settings);
    if (similar === undefined && !hasPrefix) return [];
    const advice = similar === undefined ? `${SETTINGS_PAGE} lists them all` : `did you mean ${similar}?`;
    return [`${name}: is not a setting and has no effect; ${advice}`];
  });
}

function findNearest(name: string, settings: readonly string[]): string | undefined {
  const [nearest] = settings
    .map((setting) => ({ setting, errors: countErrors(name, setting) }))
    .filter(({ errors }) => errors !== Number.POSITIVE_INFINITY)
    .toSorted((a, b) => a.errors - b.errors);
  return nearest?.setting;
}

/**
 * Counts the typing errors in a name: at most one, or two in a long name; else infinity. A name that lacks
 * only the last words of the setting has none.
 */
function countErrors(name: string, setting: string): number {
  if (name.includes('_') && setting.startsWith(`${name}_`)) return 0;
  return editDistance(name, setting, setting.length < 8 ? 1 : 2);
}
