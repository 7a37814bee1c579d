/** The parties around a server that is measured: a client's calls, an agent, a reader of events. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Agent, request } from 'undici';

export const SECRET = 'bench-secret-bench-secret';
/** What a task carries unless a load says otherwise. */
export const PAYLOAD = { text: '把这句话翻译成英文', options: { tone: 'formal', words: 120 } };

/** One call as JSON; rejects when the status is not 200. */
export async function call(
  url: string,
  wire: Agent,
  path: string,
  body: object,
): Promise<{ request_id: string }> {
  const response = await request(`${url}${path}`, {
    dispatcher: wire,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await response.body.text();
  if (response.statusCode !== 200) throw new Error(`${path}: ${response.statusCode} ${text}`);
  return JSON.parse(text) as { request_id: string };
}

/** An agent that takes every push with 202 and reports success right after, to each of the URLs in turn. */
export async function startAgent(
  urls: readonly string[],
  wire: Agent,
  capacity: number,
): Promise<{ close(): Promise<void> }> {
  const [firstUrl = ''] = urls;
  const reports = new Set<Promise<unknown>>();
  let count = 0;
  const server: Server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      response.writeHead(202).end();
      const { request_id } = JSON.parse(Buffer.concat(chunks).toString('utf8')) as { request_id: string };
      const result = { reply: '收到', output: 'Translate this sentence.' };
      const report = { request_id, agent_id: 'bench', status: 'success', progress: 100, result };
      count += 1;
      const url = urls[count % urls.length] ?? firstUrl;
      const reported = call(url, wire, '/api/agent/result', { ...report, error_info: null }).finally(() =>
        reports.delete(reported),
      );
      reports.add(reported);
    });
  });
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await call(firstUrl, wire, '/api/agent/register', {
    auth: SECRET,
    agent_id: 'bench',
    endpoint: `http://127.0.0.1:${port}/tasks`,
    agent_tags: ['bench'],
    max_concurrent: capacity + 10,
    current_load: 0,
  });
  return {
    async close() {
      await Promise.all(reports);
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Follows a session's events. */
export async function openStream(
  url: string,
  wire: Agent,
  session: string,
  onEvent: (request_id: string) => void,
): Promise<{ close(): void }> {
  const stop = new AbortController();
  const { body, statusCode } = await request(
    `${url}/api/cli/events?cli_session_id=${session}&auth=${SECRET}`,
    { dispatcher: wire, signal: stop.signal, bodyTimeout: 0 },
  );
  if (statusCode !== 200) throw new Error(`The stream responded ${statusCode}.`);
  body.setEncoding('utf8');
  let rest = '';
  body.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line.startsWith('data: '))
        onEvent((JSON.parse(line.slice(6)) as { request_id: string }).request_id);
    }
  });
  body.on('error', () => undefined);
  return { close: () => stop.abort() };
}
