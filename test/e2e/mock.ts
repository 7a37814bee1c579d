/**
 * `npm run mock -- --port 4010 --host 127.0.0.1`: Prism on the published document, for tests of programs that
 * call the gateway. It prints its limits. `PORT` and `HOST` may be set instead.
 *
 * Before Prism stands a server that does two things the gateway does too: a body is JSON whatever its
 * Content-Type says, as `curl -d` says something else; and one that is not JSON is a 400, where Prism never
 * responds.
 */
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import { describeProblem, Problem } from '../../server/http/problems.ts';
import { describeStartFailure } from '../../server/start-failure.ts';
import { type Prism, startPrism } from '../harness/prism.ts';
import { readScriptOptions } from '../harness/script-options.ts';

const { host, port } = readScriptOptions('npm run mock', {
  port: { type: 'string', value: 'NUMBER', default: process.env.PORT ?? '4010' },
  host: { type: 'string', value: 'ADDRESS', default: process.env.HOST ?? '127.0.0.1' },
});

const prism = await startPrism([], (line) => console.log(line));
const server = createServer((asked, response) => {
  forward(prism, asked, response).catch((error: Error) => response.destroy(error));
});
server.once('error', async (error) => {
  console.error(`The mock was not started. ${describeStartFailure(error, { host, port: Number(port) })}`);
  await prism.stop();
  process.exit(1);
});
server.listen({ host, port: Number(port) }, () => {
  const address = server.address();
  const taken = typeof address === 'object' ? address?.port : port;
  console.log(`A mock of the Task Gateway's document, by Prism, on http://${host}:${taken}
  It returns the document's examples. "Prefer: code=404" or "Prefer: example=running" asks for another one:
  sdk/TESTING.md lists them.
  What it cannot do: any secret is right, nothing is stored, and a stream is one finite response. For those,
  start the gateway: npm start
`);
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => prism.stop());
process.exitCode = (await prism.ended) ?? 0;
server.close();
server.closeAllConnections();

/** Sends a request on to Prism, and its response back. */
async function forward({ url }: Prism, asked: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method, url: path = '/', headers } = asked;
  const body = await readText(asked);
  if (body !== '' && !isJson(body)) {
    const detail = 'The body is not JSON. Send a JSON object in UTF-8.';
    const problem = describeProblem(new Problem('malformed_body', detail));
    response.writeHead(problem.status, { 'content-type': 'application/problem+json' }).end(problem.body);
    return;
  }
  const forwarded = request(new URL(path, url), {
    method,
    headers: method === 'POST' ? { ...headers, 'content-type': 'application/json' } : headers,
  });
  forwarded.on('response', (received) => {
    response.writeHead(received.statusCode ?? 502, received.headers);
    received.pipe(response);
  });
  forwarded.on('error', (error) => response.destroy(error));
  response.on('close', () => forwarded.destroy());
  forwarded.end(body);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
