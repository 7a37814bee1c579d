/** Which gateway and with which secrets: options first, then the secrets' file, then the environment. */
import { readFileSync } from 'node:fs';
import { createClient, type TaskGatewayClient } from '../client.ts';
import { AuthenticationError } from '../errors.ts';
import { decodeText } from './encoding.ts';
import { CommandError, createUsageError, EXITS } from './exit-codes.ts';
import type { Screen } from './terminal/terminal.ts';
import { createTracingFetch } from './trace.ts';

/** The options every command takes. */
export type GlobalOptions = {
  readonly url?: string;
  readonly auth?: string;
  readonly adminAuth?: string;
  readonly authFile?: string;
  readonly output?: OutputFormat;
  readonly debug?: true;
};

export type OutputFormat = 'table' | 'json' | 'jsonl';
export const OUTPUT_FORMATS: readonly OutputFormat[] = ['table', 'json', 'jsonl'];

type Env = Readonly<Record<string, string | undefined>>;

/** A gateway and what it takes to call it. */
export type Target = {
  readonly url: string;
  readonly auth: string;
  readonly adminAuth: string | undefined;
  /** Nobody gave a gateway secret: the documented one of a gateway that was given none is tried. */
  readonly isDefaultAuth: boolean;
};

export type Connection = Target & {
  readonly client: TaskGatewayClient;
  /** The options with which kit and agents reach the gateway. */
  readonly reach: Reach;
};

/** `fetch` is told on the screen with `--debug`; the kit's own log would go to standard output. */
type Reach = {
  readonly baseUrl: string;
  readonly auth: string;
  readonly fetch: (request: Request, init?: RequestInit) => Promise<Response>;
  readonly logLevel: 'off';
};

export const DEFAULT_URL = 'http://127.0.0.1:8080';
/** The secret of a gateway that was given none (§5.5); such a gateway listens on loopback only. */
export const DEFAULT_AUTH = 'task-gateway-default-secret';
/** A person waits: two repeats, one and a half seconds. */
const RETRIES_MAX = 2;
const ADMIN_ADVICE =
  'Give the administrator’s secret with TASK_GATEWAY_ADMIN_AUTH, --auth-file or --admin-auth.';
const FILE_BYTES_MAX = 65_536;

/** Reads where to call and with what. Throws usage errors; no text repeats a secret. */
export function readTarget(options: GlobalOptions, env: Env): Target {
  if (options.auth !== undefined && options.authFile !== undefined) {
    throw createUsageError('Give --auth or --auth-file, not both.');
  }
  const file = options.authFile === undefined ? {} : readAuthFile(options.authFile);
  const auth = options.auth ?? file.auth ?? (env.TASK_GATEWAY_AUTH || undefined);
  return {
    url: options.url ?? (env.TASK_GATEWAY_URL || DEFAULT_URL),
    auth: auth ?? DEFAULT_AUTH,
    isDefaultAuth: auth === undefined,
    adminAuth: options.adminAuth ?? file.adminAuth ?? (env.TASK_GATEWAY_ADMIN_AUTH || undefined),
  };
}

/** The secrets of a file: `TASK_GATEWAY_AUTH=…` and `TASK_GATEWAY_ADMIN_AUTH=…`, or one line, the gateway secret. */
export function readAuthFile(path: string): { auth?: string; adminAuth?: string } {
  const text = decodeText(readBytes(path), '--auth-file');
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '' && !line.startsWith('#'));
  const named = new Map<string, string>();
  const plain: string[] = [];
  for (const line of lines) {
    const [, name, value = ''] = /^\s*(TASK_GATEWAY_(?:ADMIN_)?AUTH)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
    if (name) named.set(name, value);
    else plain.push(line.trim());
  }
  const auth = named.get('TASK_GATEWAY_AUTH') ?? plain[0];
  const adminAuth = named.get('TASK_GATEWAY_ADMIN_AUTH');
  if (plain.length > 1 || (plain.length > 0 && named.size > 0) || (!auth && !adminAuth)) {
    throw createUsageError(
      '--auth-file must hold the gateway secret on one line, or lines TASK_GATEWAY_AUTH=… and TASK_GATEWAY_ADMIN_AUTH=….',
    );
  }
  return { ...(auth && { auth }), ...(adminAuth && { adminAuth }) };
}

function readBytes(path: string): Uint8Array {
  try {
    return readFileSync(path).subarray(0, FILE_BYTES_MAX);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : 'unreadable';
    throw createUsageError(`--auth-file "${path}" can't be read (${code}).`);
  }
}

/** Connects a command: nothing is sent yet. Throws usage errors for an address or a secret that can't work. */
export function connect(options: GlobalOptions, env: Env, screen: Screen): Connection {
  const target = readTarget(options, env);
  const { url, auth, adminAuth } = target;
  screen.hide([
    ...(target.isDefaultAuth ? [] : [auth]),
    ...(adminAuth === undefined ? [] : [adminAuth]),
    ...listHeaderValues(env.TASK_GATEWAY_HEADERS ?? ''),
  ]);
  const plain: Reach['fetch'] = (request, init) => globalThis.fetch(request, init);
  const fetch = options.debug
    ? createTracingFetch(plain, (line) => screen.say(screen.err.paint('dim', line)))
    : plain;
  const reach: Reach = { baseUrl: url, auth, fetch, logLevel: 'off' };
  return { ...target, reach, client: createClient({ ...reach, adminAuth, maxRetries: RETRIES_MAX }) };
}

/** Headers sent along with every request may be what opens a door in front of the gateway. */
function listHeaderValues(lines: string): readonly string[] {
  return lines.split('\n').map((line) => line.slice(line.indexOf(':') + 1).trim());
}

/** Runs a call that needs the administrator's secret; without it, or with a wrong one, says which one that is. */
export async function callAsAdmin<Answer>(
  { adminAuth }: Pick<Target, 'adminAuth'>,
  call: () => Promise<Answer>,
): Promise<Answer> {
  if (adminAuth === undefined)
    throw new CommandError(EXITS.auth, `A listing needs another secret. ${ADMIN_ADVICE}`);
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof AuthenticationError)) throw error;
    throw new CommandError(EXITS.auth, `The gateway refuses the administrator’s secret. ${ADMIN_ADVICE}`);
  }
}
