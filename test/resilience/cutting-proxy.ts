/**
 * A proxy that cuts connections where it hurts: at every class of byte boundary of a request, an answer and an event
 * stream. Which connection is cut where, and after how many chances, is drawn from a seed. It carries no load of its
 * own: what is not cut passes through untouched.
 */

import type { AddressInfo } from 'node:net';
import { connect, createServer, type Socket } from 'node:net';

/** Where an answer may end, behind the bytes of the match. Bytes are read as Latin-1. */
const IN_ANSWERS: Readonly<Record<string, RegExp>> = {
  'in a status line': /HTTP\/1\.1/g,
  'in a header': /content-ty(?=pe)/gi,
  'between head and body': /\r\n\r\n/g,
  'in a JSON body': /\{"req/g,
};
/** Where an event stream may end. */
const IN_STREAMS: Readonly<Record<string, RegExp>> = {
  'in a chunk size': /\r\n[0-9a-f]{1,4}(?=\r\n)/g,
  'before an event': /(?=id: \d)/g,
  'in an id': /id: \d{3}/g,
  'behind an id': /id: [\d-]+\n/g,
  'in a field name': /\nda(?=ta: )/g,
  'in an event': /data: \{"event":"task/g,
  'in a character': /[\xe0-\xef](?=[\x80-\xbf]{2})/g,
  'between two line ends': /\}\n(?=\n)/g,
  'behind an event': /\}\n\n/g,
};
/** Cuts that need nothing of the gateway. */
const BEFORE = 'before a request';
const UNANSWERED = 'between request and answer';

/** Chances that pass before a cut, at most: an answer has one, a stream one for each event. */
const ANSWER_SKIPS_MAX = 20;
const STREAM_SKIPS_MAX = 40;

export type CuttingProxy = {
  readonly url: string;
  /** How many connections were cut at each class of boundary. */
  readonly cuts: ReadonlyMap<string, number>;
  /** From now on nothing is cut. */
  spare(): void;
  close(): Promise<void>;
};

/** Starts the proxy in front of a port of the loopback. `random` answers numbers in [0, 1). */
export async function startCuttingProxy(port: () => number, random: () => number): Promise<CuttingProxy> {
  const forAnswers = [BEFORE, UNANSWERED, ...Object.keys(IN_ANSWERS)];
  const forStreams = Object.keys(IN_STREAMS);
  const cuts = new Map([...forAnswers, ...forStreams].map((name) => [name, 0]));
  const sockets = new Set<Socket>();
  let sparing = false;

  /** One of the classes that were cut least, so that none is left out. */
  function choose(names: readonly string[]): string {
    const countOf = (name: string): number => cuts.get(name) ?? 0;
    const least = Math.min(...names.map(countOf));
    const candidates = names.filter((name) => countOf(name) === least);
    return candidates[Math.floor(random() * candidates.length)] ?? BEFORE;
  }

  function carry(client: Socket): void {
    const gateway = connect(port(), '127.0.0.1');
    let name = choose(forAnswers);
    let skips = Math.floor(random() * ANSWER_SKIPS_MAX);
    let isStream = false;
    let sent = '';
    for (const socket of [client, gateway]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        gateway.destroy();
      });
    }

    function cut(): void {
      cuts.set(name, (cuts.get(name) ?? 0) + 1);
      gateway.destroy();
      if (random() < 0.5) client.destroySoon();
      else client.resetAndDestroy();
    }

    /** Whether one more chance was the last one. */
    function isDue(): boolean {
      if (sparing) return false;
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
        name = choose(forStreams);
        skips = Math.floor(random() * STREAM_SKIPS_MAX);
      }
      for (const match of sent.matchAll(IN_ANSWERS[name] ?? IN_STREAMS[name] ?? /$^/g)) {
        const end = match.index + match[0].length;
        if (end <= before || end > sent.length || !isDue()) continue;
        client.write(chunk.subarray(0, end - before), cut);
        return;
      }
      client.write(chunk);
      // Enough to find what began in one chunk and ends in the next.
      sent = sent.slice(-64);
    });
  }

  const server = createServer(carry);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cuts,
    spare: () => {
      sparing = true;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
