/**
 * A gateway on a real socket that follows the contract, and whose every text holds what a terminal obeys: the
 * clipboard (OSC 52), colours, C1, DEL, and characters that reverse the text.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AGENT_ROW, TASK_ROW } from '../harness/admin-values.ts';

/** What a terminal must not get. The colour is one that the command never uses. */
export const EVIL =
  'x\u001b]52;c;ZXZpbA==\u0007\u001b[35m\u009b35m\u009d0;t\u009c\u007f\u202e\u2066\u061cy\r\nz';
const OBEYED = /(?![\n\t])\p{Control}|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;

const EVIL_VALUES = { [EVIL]: EVIL, list: [EVIL] };
const TASK = {
  request_id: `id ${EVIL}`,
  task_type: EVIL,
  task_tags: [EVIL],
  payload: EVIL_VALUES,
  agent_id: EVIL,
  cli_session_id: EVIL,
  create_time: 1e300,
  timeout: 600,
  progress: 100,
};
export const SUCCESS = { ...TASK, status: 'success', result: { output: EVIL }, error_info: null };
const FAILED = { ...TASK, status: 'failed', result: null, error_info: EVIL };
const PENDING = { ...TASK, status: 'pending', agent_id: null, result: null, error_info: null };
export const AGENT = {
  ...AGENT_ROW,
  agent_id: EVIL,
  endpoint: EVIL,
  agent_tags: [EVIL],
  state: EVIL,
  last_contact_time: -1e300,
  push: { last_error: { toString: EVIL }, last_status: null },
};
export const ROW = {
  ...TASK_ROW,
  request_id: `id ${EVIL}`,
  task_type: EVIL,
  task_tags: [EVIL],
  cli_session_id: EVIL,
  status: EVIL,
  outcome: EVIL,
  agent_id: EVIL,
  create_time: 1e300,
  ended_time: -1e300,
  error_info: EVIL,
  payload_preview: EVIL,
};
const EVENT = {
  event: 'task_done',
  request_id: EVIL,
  status: 'failed',
  result: null,
  error_info: EVIL,
};
const PROBLEM = {
  type: EVIL,
  title: EVIL,
  status: 422,
  detail: EVIL,
  code: 'validation_failed',
  errors: [{ pointer: EVIL, detail: EVIL }],
};

/** Returns the first thing in the text that a terminal obeys, but line breaks and tabs. */
export function findObeyed(text: string): string | undefined {
  const found = OBEYED.exec(text);
  return found ? JSON.stringify(text.slice(Math.max(0, found.index - 20), found.index + 20)) : undefined;
}

/** What is sent by path; the first that matches counts. */
const ANSWERS: readonly (readonly [path: RegExp, body: unknown])[] = [
  [/^\/readyz/, { status: 'ok', warning: EVIL }],
  [/^\/api\/admin\/agents/, { time: 1, agents: [AGENT], total: 1, counts: {}, next_cursor: null }],
  [/^\/api\/admin\/tasks/, { time: 1, tasks: [ROW, ROW], next_cursor: null, counts: null }],
  [/\/cancel$/, { ok: true, request_id: EVIL }],
  [/\/tasks\/problem/, PROBLEM],
  [/\/tasks\/pending/, PENDING],
  [/\/tasks\/failed/, FAILED],
  [/^\/api\/cli\/tasks/, SUCCESS],
  [/^\/api\/agent\/claim/, undefined],
  [/^\/api\/agent/, { ok: true, request_id: EVIL, accepted: true, agent_id: EVIL, heartbeat_interval: 15 }],
];

function respond(request: IncomingMessage, response: ServerResponse): void {
  const { url = '' } = request;
  response.setHeader('task-gateway-version', '1.0.0\u009b35m');
  if (url.startsWith('/api/cli/events')) {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(`retry: 2000\n: ${EVIL.replaceAll(/[\r\n]/g, '')}\n\n`);
    response.write(`id: 1-${EVIL.replaceAll(/[\r\n]/g, '')}\ndata: ${JSON.stringify(EVENT)}\n\n`);
    return;
  }
  const body = ANSWERS.find(([path]) => path.test(url))?.[1];
  const status = body === undefined ? 204 : body === PROBLEM ? 422 : 200;
  response.writeHead(status, { 'content-type': 'application/json', 'x-evil': '\u009b35m' });
  response.end(body === undefined ? undefined : JSON.stringify(body));
}

/** Starts it on a free port of the loopback. */
export async function startEvilGateway(): Promise<{ readonly baseUrl: string; close(): Promise<void> }> {
  const server = createServer((request, response) => {
    request.resume().on('end', () => respond(request, response));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
