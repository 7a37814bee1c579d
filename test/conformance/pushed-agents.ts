/**
 * The server at which all agents of the kit get their pushes. It keeps what each agent got, and responds as
 * the check says.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { currentExchanges, describeExchange, type Exchanges } from './exchanges.ts';

/** A push as it came. */
export type Push = {
  /** The path of the agent's endpoint. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Buffer;
  /** When it came, by the kit's clock. */
  readonly atMs: number;
};
/** What the gateway gets for a push. With `cut` the connection ends without a response. */
export type PushReply =
  | 'cut'
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>> };
export type TakePush = (push: Push) => Promise<PushReply>;
/** How an agent responds to its n-th push, counted from 1: with only a status, or with more. */
export type Respond = (push: Push, count: number) => number | PushReply | Promise<number | PushReply>;

type Pushed = {
  readonly respond: Respond;
  readonly pushes: Push[];
  /** The exchanges of the check that added the agent. */
  readonly exchanges: Exchanges | undefined;
};

export type PushedAgents = {
  /** Adds an agent; returns its URL. */
  add(agent_id: string, respond: Respond): string;
  ids(): readonly string[];
  /** Returns the pushes to an agent so far, oldest first. */
  pushesTo(agent_id: string): readonly Push[];
  /** Returns a URL at which nothing listens. */
  closedUrl(): string;
  /** Starts to listen. Throws an error of the kit itself if it cannot. */
  listen(): Promise<void>;
  close(): void;
};

/** Creates the server. `plant` changes pushes and replies on their way. */
export function createPushedAgents(
  host: string,
  nowMs: () => number,
  plant: (take: TakePush) => TakePush,
): PushedAgents {
  const agents = new Map<string, Pushed>();
  let closedPort = 0;

  const take = plant(async (push) => {
    const agent = agents.get(push.path);
    if (!agent) return { status: 404 };
    const reply = await agent.respond(push, agent.pushes.push(push));
    const full = typeof reply === 'number' ? { status: reply } : reply;
    const status = full === 'cut' ? 0 : full.status;
    agent.exchanges?.own.push(describeExchange(`push to ${push.path}`, status, undefined));
    return full;
  });

  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const entries = Object.entries(request.headers).map(([name, value]) => [name, String(value)]);
    const reply = await take({
      path: request.url ?? '',
      headers: Object.fromEntries(entries),
      bytes: Buffer.concat(chunks),
      atMs: nowMs(),
    });
    if (reply === 'cut') request.socket.destroy();
    else response.writeHead(reply.status, reply.headers).end();
  });

  return {
    add(agent_id, respond) {
      agents.set(`/${agent_id}`, { respond, pushes: [], exchanges: currentExchanges() });
      return `http://${host}:${portOf(server)}/${agent_id}`;
    },
    ids: () => [...agents.keys()].map((path) => path.slice(1)),
    pushesTo: (agent_id) => agents.get(`/${agent_id}`)?.pushes ?? [],
    closedUrl: () => `http://${host}:${closedPort}`,
    async listen() {
      const other = createServer();
      await listen(other, host);
      closedPort = portOf(other);
      await listen(server, host);
      await new Promise((resolve) => other.close(resolve));
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

async function listen(server: Server, host: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, host, () => resolve());
  });
}
