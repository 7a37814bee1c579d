/**
 * A simulated gateway on a real port, for agents in separate processes. It records the calls it receives, and
 * asks agents for heartbeats at an interval of the test.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createSimulatedGateway, type SimulatedGateway } from './simulated-gateway.ts';

/** A call, and when it was received: milliseconds since the server started. */
type ServedCall = {
  readonly operation: string;
  readonly body: Record<string, unknown>;
  readonly atMs: number;
};

export type ServedGateway = SimulatedGateway & {
  readonly url: string;
  readonly calls: readonly ServedCall[];
  close(): Promise<void>;
};

/** Serves a simulated gateway on a free port of the loopback. */
export async function serveSimulatedGateway(heartbeatSeconds: number): Promise<ServedGateway> {
  const gateway = createSimulatedGateway();
  const calls: ServedCall[] = [];
  const startMs = performance.now();
  const server = createServer(async (incoming, outgoing) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    const operation = (incoming.url ?? '').replace('/api/agent/', '');
    const parsed = body.length > 0 ? JSON.parse(body.toString()) : {};
    calls.push({ operation, body: parsed, atMs: performance.now() - startMs });
    const disconnected = new AbortController();
    outgoing.on('close', () => disconnected.abort());
    const { method = 'GET', headers } = incoming;
    const request = new Request(new URL(incoming.url ?? '/', 'http://gateway.test'), {
      method,
      headers: headers as Record<string, string>,
      ...(body.length > 0 && { body }),
    });
    try {
      const response = await gateway.options.fetch(request, { signal: disconnected.signal });
      const text = await response.text();
      const hurried = text.replace(/"heartbeat_interval":\d+/, `"heartbeat_interval":${heartbeatSeconds}`);
      outgoing.writeHead(response.status, {
        ...Object.fromEntries(response.headers),
        'content-length': Buffer.byteLength(hurried),
      });
      outgoing.end(hurried);
    } catch {
      outgoing.destroy();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    ...gateway,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
