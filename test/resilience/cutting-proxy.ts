/**
 * A proxy that cuts connections at every class of byte boundary of a request, a response and an event stream.
 * Which connection is cut where, and after how many opportunities, is drawn from a seed. What is not cut
 * passes unchanged.
 */
import type { AddressInfo } from 'node:net';
import { connect, createServer, type Socket } from 'node:net';
import { createSeededRandom } from '../../server/simulator/seeded-random.ts';

/** Where a response may end: after the bytes of the match. Bytes are read as Latin-1. */
const IN_ANSWERS: Readonly<Record<string, RegExp>> = {
  'in a status line': /HTTP\/1\.1/g,
  'in a header': /content-ty(?=pe)/gi,
  'between head and body': /\r\n\r\n/g,
  'in a JSON body': /\{"(?:req|ok)/g,
};
/** Where an event stream may end. */
const IN_STREAMS: Readonly<Record<string, RegExp>> = {
  'in a chunk size': /\r\n[0-9a-f]{1,4}(?=\r\n)/g,
  'before an event': /(?=id: \d)/g,
  'in an id': /id: \d(?=\d)/g,
  'behind an id': /id: [\d-]+\n/g,
  'in a field name': /\nda(?=ta: )/g,
  'in an event': /data: \{"(?:event":"task|n":\d)/g,
  'in a character': /[\xe0-\xef](?=[\x80-\xbf]{2})/g,
  'between two line ends': /\}\n(?=\n)/g,
  'behind an event': /\}\n\n/g,
};
/** Cuts that need no bytes of the gateway. */
const BEFORE = 'before a request';
const UNANSWERED = 'between request and answer';
const FOR_ANSWERS = [BEFORE, UNANSWERED, ...Object.keys(IN_ANSWERS)];
const FOR_STREAMS = Object.keys(IN_STREAMS);

/**
 * How many opportunities pass before a cut, at most: a response has one, a stream one for each event. The
 * first cut of a class lets none pass, so that a short run has a cut of each.
 */
const ANSWER_SKIPS_MAX = 20;
const STREAM_SKIPS_MAX = 40;
/**
 * What is kept of the bytes sent, so that a boundary is found that begins in one chunk and ends in the next.
 */
const KEPT_CHARS = 64;

export type CuttingProxy = {
  readonly url: string;
  /** How many connections were cut at each class of boundary. */
  readonly cuts: ReadonlyMap<string, number>;
  /** From now on nothing is cut. */
  stopCutting(): void;
  close(): Promise<void>;
};

/** Starts the proxy in front of a port of the loopback. The same seed cuts at the same places of a plan. */
export async function startCuttingProxy(port: () => number, seed: number): Promise<CuttingProxy> {
  const plan = createCutPlan(createSeededRandom(seed).random);
  const sockets = new Set<Socket>();

  const server = createServer((client) => {
    const gateway = connect(port(), '127.0.0.1');
    for (const socket of [client, gateway]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        gateway.destroy();
      });
    }
    carry(client, gateway, plan);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cuts: plan.cuts,
    stopCutting: plan.stop,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Which cuts are made where, over all connections. */
type CutPlan = {
  readonly random: () => number;
  readonly cuts: ReadonlyMap<string, number>;
  /** One of the classes that were cut least, so that none is left out, and how many opportunities pass. */
  choose(names: readonly string[], skipsMax: number): { readonly name: string; readonly skips: number };
  /** Counts a cut. */
  count(name: string): void;
  isStopped(): boolean;
  stop(): void;
};

function createCutPlan(random: () => number): CutPlan {
  const cuts = new Map([...FOR_ANSWERS, ...FOR_STREAMS].map((name) => [name, 0]));
  const countOf = (name: string): number => cuts.get(name) ?? 0;
  let stopped = false;
  return {
    random,
    cuts,
    choose(names, skipsMax) {
      const least = Math.min(...names.map(countOf));
      const candidates = names.filter((name) => countOf(name) === least);
      const name = candidates[Math.floor(random() * candidates.length)] ?? BEFORE;
      return { name, skips: least === 0 ? 0 : Math.floor(random() * skipsMax) };
    },
    count: (name) => void cuts.set(name, countOf(name) + 1),
    isStopped: () => stopped,
    stop() {
      stopped = true;
    },
  };
}

/** Passes bytes between the two until the cut that is planned for this connection. */
function carry(client: Socket, gateway: Socket, plan: CutPlan): void {
  let { name, skips } = plan.choose(FOR_ANSWERS, ANSWER_SKIPS_MAX);
  let isStream = false;
  let sent = '';

  function cut(): void {
    plan.count(name);
    gateway.destroy();
    if (plan.random() < 0.5) client.destroySoon();
    else client.resetAndDestroy();
  }

  /** Takes one opportunity; whether this is the one to cut at. */
  function isDue(): boolean {
    if (plan.isStopped()) return false;
    skips -= 1;
    return skips < 0;
  }

  client.on('data', (chunk) => {
    if (name === BEFORE && isDue()) cut();
    else gateway.write(chunk);
  });
  gateway.on('data', (chunk) => {
    if (name === UNANSWERED && isDue()) {
      cut();
      return;
    }
    const before = sent.length;
    sent += chunk.toString('latin1');
    if (!isStream && sent.includes('text/event-stream')) {
      isStream = true;
      ({ name, skips } = plan.choose(FOR_STREAMS, STREAM_SKIPS_MAX));
    }
    for (const match of sent.matchAll(IN_ANSWERS[name] ?? IN_STREAMS[name] ?? /$^/g)) {
      const end = match.index + match[0].length;
      if (end <= before || end > sent.length || !isDue()) continue;
      client.write(chunk.subarray(0, end - before), cut);
      return;
    }
    client.write(chunk);
    sent = sent.slice(-KEPT_CHARS);
  });
}
