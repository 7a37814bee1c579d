/** The simulator over HTTP: a server that carries requests to its `fetch`, and responses back. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer as readAll } from 'node:stream/consumers';
import { createSimulator, type Simulator, type SimulatorOptions } from '../../server/simulator/index.ts';

export type ServedSimulator = {
  readonly url: string;
  readonly simulator: Simulator;
  stop(): Promise<void>;
};

/** Starts it; rejects when it can't listen. Without a port it takes a free one. */
export async function serveSimulator(
  { host = '127.0.0.1', port = 0 }: { readonly host?: string; readonly port?: number },
  options: SimulatorOptions = {},
): Promise<ServedSimulator> {
  const simulator = createSimulator(options);
  const server = createServer((incoming, outgoing) => {
    // A response that a fault takes away ends its connection.
    carry(simulator, incoming, outgoing).catch(() => outgoing.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, resolve);
  });
  return {
    url: `http://${host}:${(server.address() as AddressInfo).port}`,
    simulator,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function carry(
  simulator: Simulator,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const { method = 'GET', url = '/', headers } = incoming;
  const left = new AbortController();
  outgoing.once('close', () => left.abort(new Error('The caller has left.')));
  const body = await readAll(incoming);
  const hasBody = method !== 'GET' && method !== 'HEAD' && body.length > 0;
  const entries = Object.entries(headers).map(([name, value]) => [name, String(value)] as [string, string]);
  const request = new Request(`http://${headers.host ?? 'simulator.test'}${url}`, {
    method,
    headers: entries.filter(([name]) => !/^(connection|content-length|expect|transfer-encoding)$/.test(name)),
    ...(hasBody && { body: new Uint8Array(body) }),
  });
  const response = await simulator.fetch(request, { signal: left.signal });
  outgoing.writeHead(response.status, [...response.headers].flat());
  outgoing.flushHeaders();
  for await (const piece of response.body ?? []) outgoing.write(piece);
  outgoing.end();
}
