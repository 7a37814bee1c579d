/**
 * The message when the gateway has started: its URL, its console and document, and a command that submits a
 * first task.
 */
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import type { Config } from './config/config.ts';
import { DEFAULT_GATEWAY_AUTH } from './config/settings.ts';
import { describeAddress } from './engines/redis/client/address.ts';

export type StartupMessage = {
  /** For a terminal. Contains the administrator's secret if it was generated for this run. */
  readonly terminalText: string;
  /** For the log. Contains no secret. */
  readonly logFields: Readonly<Record<'url' | 'openapi' | 'curl', string> & { console?: string }>;
  /** A line of JSON with the administrator's secret if it was generated; null if it was configured. */
  readonly adminSecretLine: string | null;
};

/**
 * Builds the message. The curl command works in any terminal of the same user. It reads a configured secret
 * from the environment, and complains if the variable is not set there. `secretFile` is the file that holds
 * the gateway secret, if there is one.
 */
export function buildStartupMessage(
  config: Config,
  address: AddressInfo,
  now: Date,
  secretFile?: string,
): StartupMessage {
  const url = `http://${describeHost(config.host, address)}:${address.port}`;
  const consoleUrl = config.consoleMode === 'off' ? null : `${url}/console/`;
  const openapi = `${url}/openapi.json`;
  const curl = buildSubmitCommand(url, readSecretInShell(config, secretFile));
  const secret = config.isAdminAuthRandom ? (config.adminAuth[0] ?? null) : null;
  const lines = [
    '',
    `  Task Gateway   ${url}`,
    ...(consoleUrl === null ? [] : [`  Console        ${consoleUrl}`]),
    `  Document       ${openapi}`,
    `  Store          ${describeStore(config.store)}`,
    ...(secret === null ? [] : [`  Admin secret   ${secret}   (for this run; set ADMIN_AUTH to choose one)`]),
    '',
    `  Submit a task${curl.includes('GATEWAY_AUTH:?') ? ' (in a terminal where GATEWAY_AUTH is set)' : ''}:`,
    '',
    curl,
    '',
    '  Ctrl-C ends the gateway.',
    '',
  ];
  const adminSecretLine =
    secret === null
      ? null
      : JSON.stringify({
          level: 'info',
          time: now.toISOString(),
          admin_auth: secret,
          msg: 'ADMIN_AUTH for this run',
        });
  const logFields = { url, ...(consoleUrl === null ? {} : { console: consoleUrl }), openapi, curl };
  return { terminalText: `${lines.join('\n')}\n`, logFields, adminSecretLine };
}

function describeStore(store: Config['store']): string {
  switch (store.kind) {
    case 'memory':
      return 'memory: (tasks are lost when the gateway stops)';
    case 'sqlite':
      return `sqlite:${store.file}`;
    case 'redis':
      return `Redis at ${describeAddress(store.address)}`;
  }
}

/** The host for a URL on this machine: loopback if the gateway listens on all addresses. */
function describeHost(host: string, { family }: AddressInfo): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return family === 'IPv6' && host.includes(':') ? `[${host}]` : host;
}

/** The shell text that inserts the secret into a JSON text in single quotes. */
function readSecretInShell(config: Config, file: string | undefined): string {
  const {
    gatewayAuth: [secret = ''],
  } = config;
  if (file === undefined && secret === DEFAULT_GATEWAY_AUTH) return secret;
  // In JSON these two characters need a backslash.
  const escaping = /["\\]/.test(secret) ? ` | sed 's/["\\\\]/\\\\&/g'` : '';
  // Of two secrets, the first is used.
  const shaping = `${config.gatewayAuth.length > 1 ? ` | cut -d ' ' -f 1` : ''}${escaping}`;
  if (file !== undefined) {
    const path = quoteForShell(resolve(file));
    const line = config.isGatewayAuthNamed ? `sed -n 's/^GATEWAY_AUTH=//p' ${path} | tr` : `< ${path} tr`;
    return insert(`$(${line} -d '\\r\\n'${shaping})`);
  }
  const variable = `\${GATEWAY_AUTH:?must be set to the secret of the gateway}`;
  return insert(shaping === '' ? variable : `$(printf %s "${variable}"${shaping})`);
}

/** Ends the single quotes, inserts an expansion in double quotes, and begins single quotes again. */
function insert(expansion: string): string {
  return `'"${expansion}"'`;
}

function quoteForShell(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function buildSubmitCommand(url: string, secret: string): string {
  const body = `{"auth":"${secret}","task_type":"hello","task_tags":["demo"],"payload":{"text":"你好"}}`;
  return `curl -sS ${url}/api/cli/tasks -H 'content-type: application/json' -d '${body}'`;
}
