/**
 * Finds out which gateway to call and with which secrets. Options have priority over the file of
 * `--auth-file`, and that over the environment.
 */
import { readFileSync } from 'node:fs';
import { createClient, type TaskGatewayClient } from '../client.ts';
import { AuthenticationError } from '../errors.ts';
import { decodeText } from './decoding.ts';
import { CommandError, createUsageError, EXIT_CODES } from './exit-codes.ts';
import type { OutputFormat } from './terminal/outcome.ts';
import type { Environment, Terminal } from './terminal/terminal.ts';
import { createTracingFetch } from './trace.ts';

/** The options that every command accepts. */
export type GlobalOptions = {
  readonly url?: string;
  readonly auth?: string;
  readonly adminAuth?: string;
  readonly authFile?: string;
  readonly output?: OutputFormat;
  readonly debug?: true;
};

/** The address of a gateway and the secrets for it. */
export type Target = {
  readonly url: string;
  readonly auth: string;
  /** The admin secret; undefined if none was given. */
  readonly adminAuth: string | undefined;
  /** No gateway secret was given, so `auth` is the public default. */
  readonly isDefaultAuth: boolean;
};

export type Connection = Target & {
  readonly client: TaskGatewayClient;
  /** The options for further clients and agents of the same gateway. */
  readonly sdkOptions: SdkOptions;
};

/**
 * The SDK's own log is off because it writes to standard output; `fetch` logs requests if `--debug` is set.
 */
type SdkOptions = {
  readonly baseUrl: string;
  readonly auth: string;
  readonly fetch: (request: Request, init?: RequestInit) => Promise<Response>;
  readonly logLevel: 'off';
};

export const DEFAULT_URL = 'http://127.0.0.1:8080';
/** The secret of a gateway started without one. Such a gateway listens only on the loopback interface. */
export const DEFAULT_AUTH = 'task-gateway-default-secret';
/** Few retries, because a person waits for the command: they add at most about 1.5 s. */
const RETRIES_MAX = 2;
const ADMIN_OPTIONS = 'TASK_GATEWAY_ADMIN_AUTH, --auth-file or --admin-auth';
const FILE_BYTES_MAX = 65_536;

/** Returns the gateway to call and its secrets. Throws usage errors; their texts contain no secret. */
export function readTarget(options: GlobalOptions, env: Environment): Target {
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

/**
 * Reads a file of secrets. It holds either the gateway secret on one line, or lines `TASK_GATEWAY_AUTH=…` and
 * `TASK_GATEWAY_ADMIN_AUTH=…`; empty lines and lines that start with `#` are ignored. Throws usage errors.
 */
function readAuthFile(path: string): { auth?: string; adminAuth?: string } {
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
      '--auth-file must hold either the gateway secret on one line, or lines TASK_GATEWAY_AUTH=… and TASK_GATEWAY_ADMIN_AUTH=….',
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

/**
 * Creates the client of a command, and lets the terminal redact the secrets. Sends nothing. Throws usage
 * errors for an address or a secret that can't work.
 */
export function connect(options: GlobalOptions, env: Environment, terminal: Terminal): Connection {
  const target = readTarget(options, env);
  const { url, auth, adminAuth } = target;
  terminal.redact([
    ...(target.isDefaultAuth ? [] : [auth]),
    ...(adminAuth === undefined ? [] : [adminAuth]),
    ...listHeaderValues(env.TASK_GATEWAY_HEADERS ?? ''),
  ]);
  const plainFetch: SdkOptions['fetch'] = (request, init) => globalThis.fetch(request, init);
  const fetch = options.debug
    ? createTracingFetch(plainFetch, (line) => terminal.log(terminal.err.paint('dim', line)))
    : plainFetch;
  const sdkOptions: SdkOptions = { baseUrl: url, auth, fetch, logLevel: 'off' };
  const client = createClient({ ...sdkOptions, adminAuth, maxRetries: RETRIES_MAX });
  return { ...target, sdkOptions, client };
}

/**
 * The values of extra headers are secrets too: they may be credentials for a proxy in front of the gateway.
 */
function listHeaderValues(lines: string): readonly string[] {
  return lines.split('\n').map((line) => line.slice(line.indexOf(':') + 1).trim());
}

/**
 * Runs a call that needs the admin secret. Throws a `CommandError` that names it if it is missing or wrong.
 */
export async function callAsAdmin<Result>(
  { adminAuth }: Pick<Target, 'adminAuth'>,
  call: () => Promise<Result>,
): Promise<Result> {
  if (adminAuth === undefined) {
    throw new CommandError(
      EXIT_CODES.auth,
      `This command needs the admin secret. Give it with ${ADMIN_OPTIONS}.`,
    );
  }
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof AuthenticationError)) throw error;
    throw new CommandError(
      EXIT_CODES.auth,
      `The gateway rejects the admin secret. Give the right one with ${ADMIN_OPTIONS}.`,
    );
  }
}
