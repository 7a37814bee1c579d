/** A server in front of a gateway, for programs over generated clients: it shows each call as it was sent. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';

export type Recorder = {
  readonly url: string;
  /** Each call's first line and headers. */
  readonly calls: { readonly line: string; readonly headers: IncomingHttpHeaders }[];
  stop(): void;
};

/** Passes each call on; `change` makes another response of the gateway's. */
export async function startRecorder(
  gatewayUrl: string,
  change: (body: string) => string = (body) => body,
): Promise<Recorder> {
  const calls: Recorder['calls'] = [];
  const server = createServer(async (call, response) => {
    const { method = 'GET', url: path = '', headers } = call;
    calls.push({ line: `${method} ${path}`, headers });
    const { authorization = '' } = headers;
    const body = Buffer.concat(await call.toArray());
    const answer = await fetch(gatewayUrl + path, {
      method,
      headers: { authorization, 'content-type': 'application/json' },
      ...(method === 'POST' && { body }),
    });
    const type = answer.headers.get('content-type') ?? '';
    response.writeHead(answer.status, { 'content-type': type }).end(change(await answer.text()));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The recorder has no port.');
  return { url: `http://127.0.0.1:${address.port}`, calls, stop: () => void server.close() };
}
