/**
 * The simulator over HTTP: a server that carries requests to its `fetch`, and responses back. Everybody knows
 * its secrets, and it pushes to any endpoint that an agent registers. So it has the host rule of a gateway
 * with the default secret, and limits the size of bodies and the number of worlds.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { API_LIMITS } from '../../server/http/api.ts';
import { createRequireHost, type RequireHost } from '../../server/http/host-rule.ts';
import { describeProblem, Problem } from '../../server/http/problems.ts';
import { describeTooLarge } from '../../server/http/request/body.ts';
import { createSimulator, type Simulator, type SimulatorOptions } from '../../server/simulator/index.ts';

export type ServedSimulator = {
  readonly url: string;
  readonly simulator: Simulator;
  stop(): Promise<void>;
};

type Address = {
  readonly host?: string;
  readonly port?: number;
  /** The names that it may be called by, besides its own host and those of its machine. */
  readonly allowedHosts?: readonly string[];
  /** Whether the time of the world without a name moves with real time. */
  readonly realTime?: boolean;
};

const WORLDS_MAX = 100;
/** The steps in which time moves. */
const STEP_MS = 20;
const { bodyBytesMax } = API_LIMITS;

/** Starts the server; rejects if it can't listen. Without a port it takes a free one. */
export async function serveSimulator(
  { host = '127.0.0.1', port = 0, allowedHosts = [], realTime = false }: Address,
  options: SimulatorOptions = {},
): Promise<ServedSimulator> {
  const simulator = createSimulator({ worldsMax: WORLDS_MAX, ...options });
  const known = { allowedHosts: [host, ...allowedHosts], corsOrigins: options.corsOrigins ?? [] };
  const requireHost = createRequireHost(known, {
    misdirected:
      'The simulator serves its own machine alone. Call it as 127.0.0.1 or localhost, or start it with --allowed-hosts and this name.',
    origin_not_allowed: 'The simulator serves no web pages of other origins.',
  });
  const server = createServer((incoming, outgoing) => {
    carry(simulator, requireHost, incoming, outgoing).catch((error) => {
      if (error instanceof Problem) refuse(error, incoming, outgoing);
      // A fault took the response away, so the connection ends.
      else outgoing.destroy();
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, resolve);
  });
  const stopTime = realTime ? moveTime(simulator) : () => {};
  return {
    url: `http://${host}:${(server.address() as AddressInfo).port}`,
    simulator,
    async stop() {
      stopTime();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Moves a world's time with real time; returns a function that stops that. */
function moveTime({ clock }: Simulator): () => void {
  let lastMs = performance.now();
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  const move = async (): Promise<void> => {
    const nowMs = performance.now();
    await clock.advance((nowMs - lastMs) / 1_000);
    lastMs = nowMs;
    if (!isOver) timer = setTimeout(move, STEP_MS);
  };
  void move();
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}

async function carry(
  simulator: Simulator,
  requireHost: RequireHost,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const { method = 'GET', url = '/', headers } = incoming;
  const left = new AbortController();
  outgoing.once('close', () => left.abort(new Error('The caller has left.')));
  requireHost(headers);
  const body = await readBody(incoming);
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

/** Reads a body. Throws a `Problem` if it is too large, or announces to be. */
async function readBody(incoming: IncomingMessage): Promise<Buffer> {
  if (Number(incoming.headers['content-length'] ?? 0) > bodyBytesMax) throw describeTooLarge(bodyBytesMax);
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of incoming.iterator({ destroyOnReturn: false })) {
    bytes += chunk.length;
    if (bytes > bodyBytesMax) throw describeTooLarge(bodyBytesMax);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Responds with a problem. It reads and drops the rest of the body, so that the response arrives. */
function refuse(problem: Problem, incoming: IncomingMessage, outgoing: ServerResponse): void {
  const { status, body } = describeProblem(problem);
  incoming.resume();
  outgoing.writeHead(status, { 'content-type': 'application/problem+json', connection: 'close' }).end(body);
}
