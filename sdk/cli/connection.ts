/**
 * Finds out which gateway to call and with which secrets. Options come before the file of `--auth-file`, that
 * before a context named for this command, that before the environment, and that before the current context.
 * An address from another source never gets a context's secrets.
 */
import { createClient, type TaskGatewayClient } from '../client.ts';
import { AuthenticationError } from '../errors.ts';
import { readHeaders } from '../settings.ts';
import { readAuthFile } from './auth-file.ts';
import { readContextSecret, type SecretKind } from './context-secrets.ts';
import { type GatewayContext, readContexts, requireContext } from './contexts.ts';
import { CommandError, createUsageError, EXIT_CODES } from './exit-codes.ts';
import type { OutputFormat } from './terminal/output.ts';
import type { Environment, Terminal } from './terminal/terminal.ts';
import { createTracingFetch } from './trace.ts';

/** The options that every command accepts. */
export type GlobalOptions = {
  readonly url?: string;
  readonly context?: string;
  readonly auth?: string;
  readonly adminAuth?: string;
  readonly authFile?: string;
  readonly output?: OutputFormat;
  readonly debug?: true;
};

/** The address of a gateway, and the secrets for it. */
export type Target = {
  readonly url: string;
  readonly auth: string;
  /** The admin secret; undefined without one. */
  readonly adminAuth: string | undefined;
  /** Whether no gateway secret was given, so that `auth` is the public default. */
  readonly isDefaultAuth: boolean;
  /** Whether the headers of `TASK_GATEWAY_HEADERS` are meant for this gateway. */
  readonly hasHeaders: boolean;
};

export type Connection = Target & {
  readonly client: TaskGatewayClient;
  /** The options for further clients and agents of the same gateway. */
  readonly sdkOptions: SdkOptions;
};

/**
 * The SDK's own log is off, because it writes to standard output. With `--debug`, `fetch` logs the requests.
 */
type SdkOptions = {
  readonly baseUrl: string;
  readonly auth: string;
  readonly fetch: (request: Request, init?: RequestInit) => Promise<Response>;
  readonly logLevel: 'off';
  /** The headers of the environment, if they are meant for this gateway. */
  readonly headers: Readonly<Record<string, string>>;
};

export const DEFAULT_URL = 'http://127.0.0.1:8080';
/** The secret of a gateway started without one. Such a gateway listens only on the loopback interface. */
export const DEFAULT_AUTH = 'task-gateway-default-secret';
/** How often a call is repeated: seldom, because a person waits. It adds at most about 1.5 s. */
const RETRIES_MAX = 2;
const ADMIN_OPTIONS = 'TASK_GATEWAY_ADMIN_AUTH, --auth-file or --admin-auth';

/**
 * Returns the gateway to call and its secrets. If a command prints the admin secret, it runs only if that
 * secret is needed. Throws usage errors; their texts contain no secret.
 */
export function readTarget(options: GlobalOptions, env: Environment, needsAdmin = true): Target {
  if (options.auth !== undefined && options.authFile !== undefined) {
    throw createUsageError('Give --auth or --auth-file, not both.');
  }
  const file = options.authFile === undefined ? {} : readAuthFile(options.authFile, '--auth-file');
  const selected = selectContext(options, env);
  // A named context replaces the variables, because they may belong to another gateway.
  const variables = selected?.isNamed ? {} : env;
  const readSecret = (kind: SecretKind): string | undefined =>
    selected && readContextSecret(selected.name, selected.context, kind, env);
  const auth = options.auth ?? file.auth ?? (variables.TASK_GATEWAY_AUTH || readSecret('auth'));
  const isAdminFree = needsAdmin || selected?.context.admin_auth_command === undefined;
  return {
    url: options.url ?? selected?.context.url ?? (variables.TASK_GATEWAY_URL || DEFAULT_URL),
    auth: auth ?? DEFAULT_AUTH,
    isDefaultAuth: auth === undefined,
    hasHeaders: variables === env,
    adminAuth:
      options.adminAuth ??
      file.adminAuth ??
      (variables.TASK_GATEWAY_ADMIN_AUTH || (isAdminFree ? readSecret('admin_auth') : undefined)),
  };
}

type SelectedContext = {
  readonly name: string;
  readonly context: GatewayContext;
  /** Whether it was named for this command, and is not just the current one. */
  readonly isNamed: boolean;
};

/** Returns the context that counts, if any. */
function selectContext(options: GlobalOptions, env: Environment): SelectedContext | undefined {
  const { context: option, url } = options;
  if (option !== undefined && url !== undefined) throw createUsageError('Give --context or --url, not both.');
  if (url !== undefined) return undefined;
  const named = option ?? (env.TASK_GATEWAY_CONTEXT || undefined);
  if (named === undefined && env.TASK_GATEWAY_URL) return undefined;
  const file = readContexts(env);
  const name = named ?? file.current;
  if (name === null) return undefined;
  return { name, context: requireContext(file, name), isNamed: named !== undefined };
}

/**
 * Creates the client of a command, and makes the terminal redact the secrets. Sends nothing. Throws usage
 * errors for an address or a secret that can't work.
 */
export function connect(
  options: GlobalOptions,
  env: Environment,
  terminal: Terminal,
  needsAdmin: boolean,
): Connection {
  const target = readTarget(options, env, needsAdmin);
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
  const sdkOptions: SdkOptions = {
    baseUrl: url,
    auth,
    fetch,
    logLevel: 'off',
    headers: target.hasHeaders ? readHeaders(env.TASK_GATEWAY_HEADERS ?? '') : {},
  };
  const client = createClient({ ...sdkOptions, adminAuth, maxRetries: RETRIES_MAX });
  return { ...target, sdkOptions, client };
}

/** Returns the values of extra headers. They are secrets too, because they may be credentials for a proxy. */
function listHeaderValues(lines: string): readonly string[] {
  return lines.split('\n').map((line) => line.slice(line.indexOf(':') + 1).trim());
}

/**
 * Makes a call that needs the admin secret. If the secret is missing or wrong, throws a `CommandError` that
 * says so.
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
