/** The server that an agent with the option `listen` opens for pushes. */
import { createServer, type Server } from 'node:http';
import type { Inbox } from './inbox.ts';

/** Where to listen for pushes. */
export type ListenOptions = {
  /** The TCP port. Default: 0, which is any free port. */
  readonly port?: number | undefined;
  /** The address to listen on. Default: 127.0.0.1. */
  readonly host?: string | undefined;
  /** The path of the endpoint. Default: `/`. */
  readonly path?: string | undefined;
};

export type InboxServer = {
  /** Starts listening. Returns the URL of the endpoint; the gateway can use it if it can reach `host`. */
  open(): Promise<string>;
  /** Stops listening and cuts open connections. May be called again. */
  close(): Promise<void>;
};

const REQUEST_MS_MAX = 30_000;

/** Creates the server. It responds with 404 on every path but the endpoint's. */
export function createInboxServer(
  { host = '127.0.0.1', port = 0, path = '/' }: ListenOptions,
  { inbox, onError }: { readonly inbox: Inbox; readonly onError: (error: unknown) => void },
): InboxServer {
  const server = createServer({ requestTimeout: REQUEST_MS_MAX }, (request, response) => {
    if (request.url?.split('?')[0] === path) inbox.listener(request, response);
    else response.writeHead(404, { 'Content-Length': 0 }).end();
  });
  return {
    async open() {
      await listen(server, host, port);
      server.on('error', onError);
      const address = server.address();
      const bound = typeof address === 'object' && address ? address.port : port;
      return new URL(path, `http://${host.includes(':') ? `[${host}]` : host}:${bound}`).href;
    },
    async close() {
      if (!server.listening) return;
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}
