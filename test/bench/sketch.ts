/**
 * The lower bound to measure against: the same messages (submit, push, result, event; writes and reads of
 * output) on bare node:http, in memory, without validation, deadlines or retries. It is of no use as a
 * gateway, and nothing can be cheaper.
 */
import { randomUUID } from 'node:crypto';
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';

type Task = {
  request_id: string;
  cli_session_id: string;
  status: string;
  result: unknown;
  agent_id: string | null;
  pieces: object[];
  readers: Set<ServerResponse>;
};

const SECRET = process.env.GATEWAY_AUTH ?? '';
const tasks = new Map<string, Task>();
const streams = new Map<string, Set<ServerResponse>>();
const keepAlive = new Agent({ keepAlive: true });
let agent: { agent_id: string; endpoint: URL } | null = null;

const server = createServer((incoming, answer) => {
  const { pathname, searchParams } = new URL(incoming.url ?? '/', 'http://sketch');
  if (pathname === '/api/cli/events') return openStream(searchParams.get('cli_session_id') ?? '', answer);
  if (pathname.endsWith('/output') && incoming.method === 'GET')
    return follow(pathname.split('/')[4], answer);
  readBody(incoming, (body) => {
    if (pathname === '/api/cli/tasks') return submit(body as Task & { auth: string }, answer);
    if (pathname === '/api/agent/result') return report(body as Task, answer);
    if (pathname === '/api/agent/output') return write(body as Task & { auth: string }, answer);
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
  const sent = { ...rest, request_id: randomUUID(), status: 'pending', result: null, agent_id: null };
  const task: Task = { ...sent, pieces: [], readers: new Set() };
  tasks.set(task.request_id, task);
  send(answer, 200, sent);
  task.status = 'running';
  task.agent_id = agent.agent_id;
  const { hostname, port, pathname } = agent.endpoint;
  const text = JSON.stringify({ ...sent, status: task.status, agent_id: task.agent_id });
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

function write(body: Task & { auth: string }, answer: ServerResponse): void {
  const task = tasks.get(body.request_id);
  if (body.auth !== SECRET || !task) {
    send(answer, 401, {});
    return;
  }
  for (const piece of body.pieces) {
    task.pieces.push(piece);
    const n = task.pieces.length;
    for (const reader of task.readers) reader.write(`id: ${n}\ndata: ${JSON.stringify({ n, ...piece })}\n\n`);
  }
  send(answer, 200, { ok: true, request_id: body.request_id, accepted: true, next: task.pieces.length });
}

function follow(request_id = '', answer: ServerResponse): void {
  answer.writeHead(200, { 'content-type': 'text/event-stream' });
  answer.write(': open\n\n');
  const readers = tasks.get(request_id)?.readers;
  readers?.add(answer);
  answer.on('close', () => readers?.delete(answer));
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
