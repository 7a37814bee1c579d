/**
 * The lower bound to measure against: the same four messages (submit, push, result, event) on bare node:http,
 * in memory, without validation, deadlines or retries. It is of no use as a gateway, and nothing can be
 * cheaper.
 */
import { randomUUID } from 'node:crypto';
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';

type Task = {
  request_id: string;
  cli_session_id: string;
  status: string;
  result: unknown;
  agent_id: string | null;
};

const SECRET = process.env.GATEWAY_AUTH ?? '';
const tasks = new Map<string, Task>();
const streams = new Map<string, Set<ServerResponse>>();
const keepAlive = new Agent({ keepAlive: true });
let agent: { agent_id: string; endpoint: URL } | null = null;

const server = createServer((incoming, answer) => {
  const { pathname, searchParams } = new URL(incoming.url ?? '/', 'http://sketch');
  if (pathname === '/api/cli/events') return openStream(searchParams.get('cli_session_id') ?? '', answer);
  readBody(incoming, (body) => {
    if (pathname === '/api/cli/tasks') return submit(body as Task & { auth: string }, answer);
    if (pathname === '/api/agent/result') return report(body as Task, answer);
    if (pathname === '/api/agent/register') {
      const { agent_id, endpoint } = body as { agent_id: string; endpoint: string };
      agent = { agent_id, endpoint: new URL(endpoint) };
    }
    send(answer, 200, { ok: true });
  });
});
server.keepAliveTimeout = 60_000;
server.listen(Number(process.env.PORT ?? 0), '127.0.0.1', () => {
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  console.log(JSON.stringify({ url: `http://127.0.0.1:${port}` }));
});
process.on('SIGTERM', () => process.exit(0));

function submit(body: Task & { auth: string }, answer: ServerResponse): void {
  if (body.auth !== SECRET || !agent) {
    send(answer, 401, {});
    return;
  }
  const { auth: _secret, ...rest } = body;
  const task: Task = { ...rest, request_id: randomUUID(), status: 'pending', result: null, agent_id: null };
  tasks.set(task.request_id, task);
  send(answer, 200, task);
  task.status = 'running';
  task.agent_id = agent.agent_id;
  const { hostname, port, pathname } = agent.endpoint;
  const text = JSON.stringify(task);
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
  const push = request({ hostname, port, path: pathname, method: 'POST', agent: keepAlive, headers });
  push.on('response', (taken) => taken.resume());
  push.end(text);
}

function report(body: Task, answer: ServerResponse): void {
  const task = tasks.get(body.request_id);
  if (!task) {
    send(answer, 404, {});
    return;
  }
  task.status = body.status;
  task.result = body.result;
  send(answer, 200, { ok: true });
  const { request_id, status, result, cli_session_id } = task;
  const event = JSON.stringify({ event: 'task_done', request_id, status, result, error_info: null });
  for (const stream of streams.get(cli_session_id) ?? []) stream.write(`data: ${event}\n\n`);
}

function openStream(session: string, answer: ServerResponse): void {
  answer.writeHead(200, { 'content-type': 'text/event-stream' });
  answer.write(': open\n\n');
  const open = streams.get(session) ?? new Set();
  streams.set(session, open.add(answer));
  answer.on('close', () => open.delete(answer));
}

function readBody(incoming: IncomingMessage, use: (body: unknown) => void): void {
  const chunks: Buffer[] = [];
  incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
  incoming.on('end', () => use(JSON.parse(Buffer.concat(chunks).toString('utf8') || '{}')));
}

function send(answer: ServerResponse, status: number, body: unknown): void {
  answer.writeHead(status, { 'content-type': 'application/json' });
  answer.end(JSON.stringify(body));
}
