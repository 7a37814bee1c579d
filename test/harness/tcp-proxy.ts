/**
 * A TCP proxy whose network the test controls: it refuses, resets, cuts before or after a request had its
 * effect, blocks all traffic, is slow, or forwards a few bytes at a time.
 */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { findFreePort } from './free-port.ts';

/**
 * - `refuse`: nothing listens on the port.
 * - `reset`: all connections are reset, new ones at once.
 * - `cut-before`: a request does not arrive, and the connection ends.
 * - `cut-after`: a request arrives, its reply does not, and the connection ends.
 * - `black-hole`: connections are accepted, no byte passes either way, and neither side notices. Bytes under
 *   way are forwarded when the fault is over, even if their client has closed the connection.
 * - `slowMs`: each direction is delayed by this time.
 * - `trickleBytes`: this many bytes pass at a time.
 */
export type NetworkFault =
  | 'refuse'
  | 'reset'
  | 'cut-before'
  | 'cut-after'
  | 'black-hole'
  | { readonly slowMs: number }
  | { readonly trickleBytes: number };

export type TcpProxy = {
  readonly port: number;
  /** Gives the network this fault from now on; null for none. */
  setFault(fault: NetworkFault | null): Promise<void>;
  /** Holds all requests back from now on, until `release()`. */
  hold(): void;
  release(): void;
  /** Whether a request is held back. */
  isHolding(): boolean;
  /** How many connections were made so far. */
  connections(): number;
  close(): Promise<void>;
};

/** The present state of the network, which all connections share. */
type Network = { fault: NetworkFault | null; isHeld: boolean };

/** One proxied connection. */
type Pair = {
  readonly network: Network;
  readonly client: Socket;
  readonly upstream: Socket;
  readonly flows: readonly Flow[];
  /** Called when the connection ends. */
  onDrop(): void;
};

/** Bytes on their way in one direction, in order. */
type Flow = {
  readonly to: Socket;
  readonly isRequest: boolean;
  readonly queued: Buffer[];
  timer: NodeJS.Timeout | null;
};

const TRICKLE_EVERY_MS = 2;
const PORT_WITHIN_MS = 10_000;

/** Starts a proxy in front of a port of this machine. */
export async function startTcpProxy(targetPort: number): Promise<TcpProxy> {
  const pairs = new Set<Pair>();
  const network: Network = { fault: null, isHeld: false };
  let made = 0;
  let server: Server | null = null;

  function accept(client: Socket): void {
    made += 1;
    const pair = createPair(network, client, connect(targetPort, '127.0.0.1'), () => pairs.delete(pair));
    pairs.add(pair);
    forward(pair);
  }

  function moveAll(): void {
    for (const pair of [...pairs]) for (const flow of pair.flows) move(pair, flow);
    if (network.fault === 'black-hole') return;
    // The clients closed while nothing passed: no reply reaches them, but their requests still arrive.
    for (const { client, upstream } of [...pairs]) if (client.destroyed) upstream.end();
  }

  /**
   * Listens as soon as the port is free. A program that another test of this process starts has copies of all
   * sockets until it runs, so a port that was just closed may be taken for a moment.
   */
  async function listen(port: number): Promise<Server> {
    const endMs = performance.now() + PORT_WITHIN_MS;
    for (;;) {
      const started = createServer(accept);
      const listening = once(started, 'listening');
      started.listen(port, '127.0.0.1');
      try {
        await listening;
        return started;
      } catch (error) {
        if (performance.now() > endMs) throw error;
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
  }

  async function stopListening(): Promise<void> {
    if (!server) return;
    const stopped = once(server, 'close');
    server.close();
    server = null;
    for (const pair of [...pairs]) drop(pair);
    await stopped;
  }

  const port = await findFreePort();
  server = await listen(port);
  return {
    port,
    async setFault(next) {
      network.fault = next;
      if (next === 'refuse') return await stopListening();
      server ??= await listen(port);
      if (next === 'reset') for (const pair of [...pairs]) reset(pair);
      moveAll();
    },
    hold() {
      network.isHeld = true;
    },
    release() {
      network.isHeld = false;
      moveAll();
    },
    isHolding: () =>
      network.isHeld &&
      [...pairs].some(({ flows }) => flows.some(({ isRequest, queued }) => isRequest && queued.length > 0)),
    connections: () => made,
    close: stopListening,
  };
}

function createPair(network: Network, client: Socket, upstream: Socket, onDrop: () => void): Pair {
  const flow = (to: Socket): Flow => ({ to, isRequest: to === upstream, queued: [], timer: null });
  return { network, client, upstream, flows: [flow(upstream), flow(client)], onDrop };
}

/** Connects the two sockets of a pair; or resets it at once, if that is the fault. */
function forward(pair: Pair): void {
  const { network, client, upstream, flows } = pair;
  for (const socket of [client, upstream]) {
    socket.setNoDelay(true);
    socket.on('error', () => undefined);
    socket.on('close', () => {
      // In a black hole the server does not notice that its client closed, and bytes sent before still arrive
      // later.
      if (network.fault !== 'black-hole' || socket !== client) drop(pair);
    });
  }
  if (network.fault === 'reset') {
    reset(pair);
    return;
  }
  for (const flow of flows) {
    (flow.isRequest ? client : upstream).on('data', (bytes: Buffer) => {
      flow.queued.push(bytes);
      move(pair, flow);
    });
  }
}

function drop(pair: Pair): void {
  pair.onDrop();
  for (const { timer } of pair.flows) if (timer) clearTimeout(timer);
  pair.client.destroy();
  pair.upstream.destroy();
}

function reset(pair: Pair): void {
  pair.client.resetAndDestroy();
  drop(pair);
}

/** Forwards the queued bytes that may pass now. */
function move(pair: Pair, flow: Flow): void {
  const { fault, isHeld } = pair.network;
  if (flow.queued.length === 0 || (isHeld && flow.isRequest) || fault === 'black-hole') return;
  if (fault === 'cut-before' || (fault === 'cut-after' && !flow.isRequest)) drop(pair);
  else if (fault !== null && typeof fault === 'object') moveLater(pair, flow, fault);
  else for (const bytes of flow.queued.splice(0)) flow.to.write(bytes);
}

function moveLater(pair: Pair, flow: Flow, slow: Extract<NetworkFault, object>): void {
  if (flow.timer) return;
  const inMs = 'slowMs' in slow ? slow.slowMs : TRICKLE_EVERY_MS;
  const due = 'slowMs' in slow ? flow.queued.length : 0;
  flow.timer = setTimeout(() => {
    flow.timer = null;
    if (pair.network.isHeld && flow.isRequest) return;
    if ('slowMs' in slow) for (const bytes of flow.queued.splice(0, due)) flow.to.write(bytes);
    else {
      const all = Buffer.concat(flow.queued.splice(0));
      flow.to.write(all.subarray(0, slow.trickleBytes));
      if (all.length > slow.trickleBytes) flow.queued.push(all.subarray(slow.trickleBytes));
    }
    move(pair, flow);
  }, inMs);
}
