/** DNS servers of a test: one reads every query and responds as the test says, or to none of them. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { onTestFinished } from 'vitest';

export type DnsServer = {
  /** Address and port, as a resolver takes it. */
  readonly address: string;
  /** The names that were asked for, in order, once for each query. */
  readonly queries: readonly string[];
};

/** IPv4 addresses of a name; null: no such name; undefined: no response. */
export type Records = (name: string) => readonly string[] | null | undefined;

/** Starts a server that is closed when the test ends. It has no IPv6 addresses. */
export async function openDnsServer(records: Records): Promise<DnsServer> {
  const socket = createSocket('udp4');
  const queries: string[] = [];
  socket.on('message', (query, peer) => {
    const { name, end } = readQuestion(query);
    queries.push(name);
    const addresses = records(name);
    if (addresses === undefined) return;
    const isIpv4 = query.readUInt16BE(end - 4) === 1;
    socket.send(
      buildReply(query.subarray(0, end), isIpv4 ? addresses : addresses && []),
      peer.port,
      peer.address,
    );
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  onTestFinished(() => void socket.close());
  return { address: `127.0.0.1:${socket.address().port}`, queries };
}

/** A query has a header of 12 bytes and one question: labels, type and class. */
function readQuestion(query: Buffer): { readonly name: string; readonly end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), end: at + 5 };
}

/** Repeats the question with these addresses, or with the code of a name that does not exist. */
function buildReply(question: Buffer, addresses: readonly string[] | null): Buffer {
  const head = Buffer.from(question);
  head.writeUInt16BE(addresses ? 0x8180 : 0x8183, 2);
  head.writeUInt16BE(addresses?.length ?? 0, 6);
  head.writeUInt32BE(0, 8);
  const records = (addresses ?? []).map((address) => {
    const record = Buffer.alloc(16);
    record.writeUInt16BE(0xc00c, 0);
    record.writeUInt32BE(0x0001_0001, 2);
    record.writeUInt32BE(60, 6);
    record.writeUInt16BE(4, 10);
    record.set(address.split('.').map(Number), 12);
    return record;
  });
  return Buffer.concat([head, ...records]);
}
