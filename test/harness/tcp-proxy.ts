/**
 * A TCP proxy whose network obeys the test: it refuses, resets, cuts before or after what was asked had its effect, lets
 * nothing through, is slow, or hands bytes on in crumbs.
 */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

/**
 * `refuse`: nobody listens. `reset`: connections are reset, new ones at once. `cut-before`: what is asked never arrives
 * and the connection ends. `cut-after`: what is asked arrives, the answer does not, and the connection ends.
 * `black-hole`: connections are accepted, no byte passes either way, and nothing says so; what was on its way goes on
 * when the fault is over, whether or not anybody still waits for it. `slow`: each way takes so long. `trickle`: few bytes
 * at a time.
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
  /** From now on the network fails like this; null: it is well again. */
  setFault(fault: NetworkFault | null): Promise<void>;
  /** From now on nothing that is asked arrives, until it is released. */
  hold(): void;
  release(): void;
  /** Whether something that was asked is held. */
  isHolding(): boolean;
  /** How many connections were made so far. */
  connections(): number;
  close(): Promise<void>;
};

type Pair = { readonly client: Socket; readonly upstream: Socket; readonly flows: readonly Flow[] };

/** Bytes on their way in one direction, in order. */
type Flow = {
  readonly to: Socket;
  readonly asks: boolean;
  readonly waiting: Buffer[];
  timer: NodeJS.Timeout | null;
};

const TRICKLE_EVERY_MS = 2;

/** Starts a proxy in front of a port of this machine. */
export async function startTcpProxy(targetPort: number): Promise<TcpProxy> {
  const pairs = new Set<Pair>();
  let fault: NetworkFault | null = null;
  let isHeld = false;
  let made = 0;
  let server: Server | null = null;

  function accept(client: Socket): void {
    made += 1;
    const upstream = connect(targetPort, '127.0.0.1');
    const flow = (to: Socket): Flow => ({ to, asks: to === upstream, waiting: [], timer: null });
    const pair: Pair = { client, upstream, flows: [flow(upstream), flow(client)] };
    pairs.add(pair);
    for (const socket of [client, upstream]) {
      socket.setNoDelay(true);
      socket.on('error', () => undefined);
      socket.on('close', () => leave(pair, socket));
    }
    if (fault === 'reset') {
      reset(pair);
      return;
    }
    for (const one of pair.flows) {
      (one.asks ? client : upstream).on('data', (bytes: Buffer) => {
        one.waiting.push(bytes);
        move(pair, one);
      });
    }
  }

  /** In a black hole nobody learns that the other has left, and what was sent before still arrives some day. */
  function leave(pair: Pair, socket: Socket): void {
    if (fault === 'black-hole' && socket === pair.client) return;
    drop(pair);
  }

  function drop(pair: Pair): void {
    pairs.delete(pair);
    for (const { timer } of pair.flows) if (timer) clearTimeout(timer);
    pair.client.destroy();
    pair.upstream.destroy();
  }

  function reset(pair: Pair): void {
    pair.client.resetAndDestroy();
    drop(pair);
  }

  /** Hands on what may pass now. */
  function move(pair: Pair, flow: Flow): void {
    if (flow.waiting.length === 0 || (isHeld && flow.asks) || fault === 'black-hole') return;
    if (fault === 'cut-before' || (fault === 'cut-after' && !flow.asks)) drop(pair);
    else if (fault !== null && typeof fault === 'object') moveLater(pair, flow, fault);
    else for (const bytes of flow.waiting.splice(0)) flow.to.write(bytes);
  }

  function moveLater(pair: Pair, flow: Flow, slow: Extract<NetworkFault, object>): void {
    if (flow.timer) return;
    const inMs = 'slowMs' in slow ? slow.slowMs : TRICKLE_EVERY_MS;
    const due = 'slowMs' in slow ? flow.waiting.length : 0;
    flow.timer = setTimeout(() => {
      flow.timer = null;
      if (isHeld && flow.asks) return;
      if ('slowMs' in slow) for (const bytes of flow.waiting.splice(0, due)) flow.to.write(bytes);
      else {
        const all = Buffer.concat(flow.waiting.splice(0));
        flow.to.write(all.subarray(0, slow.trickleBytes));
        if (all.length > slow.trickleBytes) flow.waiting.push(all.subarray(slow.trickleBytes));
      }
      move(pair, flow);
    }, inMs);
  }

  function moveAll(): void {
    for (const pair of [...pairs]) for (const flow of pair.flows) move(pair, flow);
    for (const pair of [...pairs]) if (fault !== 'black-hole' && pair.client.destroyed) endLate(pair);
  }

  /** Nobody waits for the answer any more; what was on its way arrives all the same. */
  function endLate(pair: Pair): void {
    pair.upstream.end();
  }

  async function listen(port: number): Promise<Server> {
    const started = createServer(accept).listen(port, '127.0.0.1');
    await once(started, 'listening');
    return started;
  }

  async function stopListening(): Promise<void> {
    if (!server) return;
    const stopped = once(server, 'close');
    server.close();
    server = null;
    for (const pair of [...pairs]) drop(pair);
    await stopped;
  }

  server = await listen(0);
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port');
  const { port } = address;
  return {
    port,
    async setFault(next) {
      fault = next;
      if (next === 'refuse') return await stopListening();
      server ??= await listen(port);
      if (next === 'reset') for (const pair of [...pairs]) reset(pair);
      moveAll();
    },
    hold() {
      isHeld = true;
    },
    release() {
      isHeld = false;
      moveAll();
    },
    isHolding: () =>
      isHeld && [...pairs].some(({ flows }) => flows.some(({ asks, waiting }) => asks && waiting.length > 0)),
    connections: () => made,
    close: stopListening,
  };
}
