/** The message of a gateway that has started: its URL, its document, and a command to submit a first task. */
import type { AddressInfo } from 'node:net';
import type { Config } from './config/config.ts';
import { DEFAULT_GATEWAY_AUTH } from './config/settings.ts';
import { describeAddress } from './engines/redis/address.ts';

export type StartupMessage = {
  /** For a terminal. Contains the administrator's secret when it was generated for this run. */
  readonly terminalText: string;
  /** For the log. Contains no secret. */
  readonly logFields: { readonly url: string; readonly openapi: string; readonly curl: string };
  /** One line of JSON with the generated secret of the administrator; null when the secret was configured. */
  readonly adminSecretLine: string | null;
};

/** Builds the message. The curl command works unchanged in the shell that started the gateway. */
export function buildStartupMessage(config: Config, address: AddressInfo): StartupMessage {
  const url = `http://${describeHost(config.host, address)}:${address.port}`;
  const openapi = `${url}/openapi.json`;
  const curl = buildSubmitCommand(url, config.gatewayAuth[0] === DEFAULT_GATEWAY_AUTH);
  const secret = config.isAdminAuthRandom ? (config.adminAuth[0] ?? null) : null;
  const lines = [
    '',
    `  Task Gateway   ${url}`,
    `  Document       ${openapi}`,
    `  Store          ${describeStore(config.store)}`,
    ...(secret === null ? [] : [`  Admin secret   ${secret}   (for this run; set ADMIN_AUTH to choose one)`]),
    '',
    '  Submit a task:',
    '',
    curl,
    '',
    '  Ctrl-C ends the gateway.',
    '',
  ];
  const adminSecretLine =
    secret === null
      ? null
      : JSON.stringify({ level: 'info', msg: 'ADMIN_AUTH for this run', admin_auth: secret });
  return { terminalText: `${lines.join('\n')}\n`, logFields: { url, openapi, curl }, adminSecretLine };
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

/** The host for a URL on this machine: the loopback address when the gateway listens on all addresses. */
function describeHost(host: string, { family }: AddressInfo): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return family === 'IPv6' && host.includes(':') ? `[${host}]` : host;
}

function buildSubmitCommand(url: string, isDefaultSecret: boolean): string {
  const task = '"task_type":"hello","task_tags":["demo"],"payload":{"text":"你好"}';
  const body = isDefaultSecret
    ? `'{"auth":"${DEFAULT_GATEWAY_AUTH}",${task}}'`
    : `'{"auth":"'"$GATEWAY_AUTH"'",${task}}'`;
  return `curl -sS ${url}/api/cli/tasks -H 'content-type: application/json' -d ${body}`;
}
