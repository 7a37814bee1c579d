/**
 * Which remote address a request comes from, as far as that says something about its caller: shares of pools
 * go by it.
 *
 *   socket's address ──► a trusted proxy? ── no ──► that address
 *                              │ yes
 *                              ▼
 *     X-Forwarded-For, else Forwarded: from the right, the first address that is no trusted proxy
 *
 * A loopback address says nothing: every caller on this machine or behind a proxy on it has the same. Nor
 * does a trusted proxy that names no caller. The first 64 bits of an IPv6 address count: a caller that
 * has one address of such a network has all of them.
 */
import type { IncomingMessage } from 'node:http';
import { isIP, type Socket } from 'node:net';
import { buildNetworkList, containsAddress, formatNetwork64, unmapAddress } from '../net/networks.ts';
import type { Caller } from '../ports/caller.ts';

export type RemoteAddresses = {
  /** The address of the request's caller; null when nothing is known of it. */
  ofRequest(req: IncomingMessage): string | null;
  /**
   * The whole address of the request's caller, for the log: loopback too, and that of a proxy which names no
   * caller.
   */
  peerOf(req: IncomingMessage): string;
  /** The address of a connection; null for a loopback address and a trusted proxy. */
  ofConnection(socket: Socket): string | null;
  /** For whom a request is served: the address of its caller or, where that says nothing, its connection. */
  callerOf(req: IncomingMessage): Caller;
};

/** Creates the reader. Throws when a network can't be parsed. */
export function createRemoteAddresses(trustedProxies: readonly string[]): RemoteAddresses {
  const trusted = trustedProxies.length > 0 ? buildNetworkList(trustedProxies) : null;
  const isTrusted = (address: string): boolean => trusted !== null && containsAddress(trusted, address);

  /** Null for a trusted proxy that names no caller. */
  function findAddress(req: IncomingMessage): string | null {
    const peer = unmapAddress(req.socket.remoteAddress ?? '');
    if (trusted === null || isIP(peer) === 0 || !isTrusted(peer)) return peer;
    const named = listForwarded(req);
    let address: string | null = null;
    for (let index = named.length - 1; index >= 0; index -= 1) {
      address = parseNode(named[index] ?? '');
      if (address === null || !isTrusted(address)) break;
    }
    return address;
  }

  function ofRequest(req: IncomingMessage): string | null {
    const address = findAddress(req);
    return address === null ? null : toParty(address);
  }

  return {
    ofRequest,
    peerOf: (req) => (findAddress(req) ?? unmapAddress(req.socket.remoteAddress ?? '')) || 'unknown',
    callerOf: (req) => ({ key: ofRequest(req) ?? req.socket, isGone: () => req.socket.destroyed }),
    ofConnection({ remoteAddress }) {
      const peer = unmapAddress(remoteAddress ?? '');
      return isIP(peer) === 0 || isTrusted(peer) ? null : toParty(peer);
    },
  };
}

/** The text under which an address is counted; null when it says nothing. */
function toParty(address: string): string | null {
  const family = isIP(address);
  if (family === 0 || address === '::1' || address.startsWith('127.')) return null;
  return family === 4 ? address : formatNetwork64(address);
}

/** The nodes that proxies have named, the last one at the end. */
function listForwarded({ headers }: IncomingMessage): readonly string[] {
  const listed = headers['x-forwarded-for'];
  if (listed !== undefined) return String(listed).split(',');
  const { forwarded } = headers;
  if (forwarded === undefined) return [];
  return forwarded
    .split(',')
    .map((element) => /(?:^|;)\s*for\s*=\s*("[^"]*"|[^;\s]*)/i.exec(element)?.[1] ?? '');
}

/** `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]:80`, quoted or not; null for any other text. */
function parseNode(text: string): string | null {
  const node = text.trim().replace(/^"(.*)"$/, '$1');
  const bare = /^\[([^\]]*)\](?::\d+)?$/.exec(node)?.[1] ?? /^([\d.]+):\d+$/.exec(node)?.[1] ?? node;
  const address = unmapAddress(bare);
  return isIP(address) === 0 ? null : address;
}
