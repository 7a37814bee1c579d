/** The server an agent opens for its inbox when it is told to listen. */
import { createServer, type Server } from 'node:http';
import type { Inbox } from './inbox.ts';

/** Where to listen for pushes. */
export type ListenOptions = {
  /** TCP port; 0 or absent: any free one. */
  readonly port?: number | undefined;
  /** Address to listen on; 127.0.0.1 unless told otherwise. */
  readonly host?: string | undefined;
  /** Path of the endpoint; `/` unless told otherwise. */
  readonly path?: string | undefined;
};

export type InboxServer = {
  /** Begins to listen; answers the URL the gateway reaches it at if it can reach `host`. */
  open(): Promise<string>;
  /** Stops listening and cuts what is still connected. Twice is fine. */
  close(): Promise<void>;
};

const REQUEST_MS_MAX = 30_000;

/** Creates the server; every other path than the endpoint's is answered 404. */
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
