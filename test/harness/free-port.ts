/** Free ports of this machine. */
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Returns a port on which nothing listens, below those that systems give to outgoing connections. So it stays
 * free until someone asks for this very port, even while a server on it restarts.
 */
export async function findFreePort(): Promise<number> {
  for (;;) {
    const port = randomInt(PORTS_FROM, PORTS_TO);
    const server = createServer();
    try {
      const listening = once(server, 'listening');
      server.listen(port, '127.0.0.1');
      await listening;
    } catch {
      continue;
    }
    server.close();
    await once(server, 'close');
    return port;
  }
}

const PORTS_FROM = 20_000;
const PORTS_TO = 32_000;
