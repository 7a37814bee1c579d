/** What is said when the gateway is up: where it is, where its document is, and a line to paste. */
import type { AddressInfo } from 'node:net';
import { type Config, DEFAULT_GATEWAY_AUTH } from './config/config.ts';
import { describeAddress } from './engines/redis/address.ts';

export type StartMessage = {
  /** For a terminal; with the random admin secret, if there is one. */
  readonly forPeople: string;
  /** For the log, without any secret. */
  readonly facts: { readonly url: string; readonly openapi: string; readonly curl: string };
  /** One JSON line with the random admin secret; null when it was configured. */
  readonly adminSecret: string | null;
};

/** Describes a gateway that listens. The curl line works as it is in the shell that started it. */
export function describeStart(config: Config, address: AddressInfo): StartMessage {
  const url = `http://${describeHost(config.host, address)}:${address.port}`;
  const openapi = `${url}/openapi.json`;
  const curl = describeSubmit(url, config.gatewayAuth[0] === DEFAULT_GATEWAY_AUTH);
  const secret = config.adminAuthIsRandom ? (config.adminAuth[0] ?? null) : null;
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
  const adminSecret =
    secret === null
      ? null
      : JSON.stringify({ level: 'info', msg: 'ADMIN_AUTH for this run', admin_auth: secret });
  return { forPeople: `${lines.join('\n')}\n`, facts: { url, openapi, curl }, adminSecret };
}

function describeStore(store: Config['store']): string {
  switch (store.kind) {
    case 'memory':
      return 'memory: (forgotten at the end)';
    case 'sqlite':
      return `sqlite:${store.file}`;
    case 'redis':
      return `Redis at ${describeAddress(store.address)}`;
  }
}

/** A gateway that listens everywhere is reached at this machine's own name for itself. */
function describeHost(host: string, { family }: AddressInfo): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return family === 'IPv6' && host.includes(':') ? `[${host}]` : host;
}

function describeSubmit(url: string, isDefaultSecret: boolean): string {
  const task = '"task_type":"hello","task_tags":["demo"],"payload":{"text":"你好"}';
  const body = isDefaultSecret
    ? `'{"auth":"${DEFAULT_GATEWAY_AUTH}",${task}}'`
    : `'{"auth":"'"$GATEWAY_AUTH"'",${task}}'`;
  return `curl -sS ${url}/api/cli/tasks -H 'content-type: application/json' -d ${body}`;
}
