/**
 * Opens the connections that pushes travel on. Literal addresses are judged before a socket exists (no lookup runs for
 * them), names by what they resolve to now, and the socket's own remote address has the last word before anything is
 * written. Whatever happens within the time allowed, the callback is called once.
 */
import { type LookupAddress, lookup as lookUpHost } from 'node:dns';
import { isIP, type LookupFunction, connect as openPlain, type Socket } from 'node:net';
import { connect as openTls } from 'node:tls';
import type { buildConnector } from 'undici';
import type { AddressJudge } from './address.ts';

/** Resolves a name to all its addresses. */
export type Resolve = (
  hostname: string,
  done: (error: Error | null, addresses: readonly LookupAddress[]) => void,
) => void;

/** The connection was not made, by our own decision; the message says why in a few words. */
export class ConnectRefusal extends Error {
  override readonly name = 'ConnectRefusal';
}

export type Connector = {
  /** What undici calls for each new connection. */
  readonly connect: buildConnector.connector;
  /** Ends every connection, those that are still being made too. */
  destroyAll(): void;
};

type Deps = {
  readonly judge: AddressJudge;
  /** For lookup, connection and TLS handshake together. */
  readonly connectWithinMs: number;
  readonly resolve?: Resolve;
};

/** A quiet connection is probed, so that a dead one is noticed and a home router does not forget it. */
const PROBE_AFTER_MS = 60_000;
const CLOSED_EARLY = 'closed before anything was written';

/** Creates the connector; it holds the open sockets and nothing else. */
export function createConnector(deps: Deps): Connector {
  const { judge, connectWithinMs } = deps;
  const lookup = createJudgedLookup(judge, deps.resolve ?? resolveHost);
  const sockets = new Set<Socket>();

  function connect(options: buildConnector.Options, callback: buildConnector.Callback): void {
    const { hostname } = options;
    const reason = isIP(hostname) === 0 ? null : judge(hostname);
    if (reason !== null) {
      queueMicrotask(() => callback(new ConnectRefusal(`forbidden address: ${reason}`), null));
      return;
    }
    const socket = openSocket(options, lookup);
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    socket.setNoDelay(true).setKeepAlive(true, PROBE_AFTER_MS);

    let finished = false;
    const late = setTimeout(
      () => finish(new ConnectRefusal(`no connection within ${connectWithinMs / 1_000} s`)),
      connectWithinMs,
    );
    const finish = (error: Error | null): void => {
      if (finished) return;
      finished = true;
      clearTimeout(late);
      if (error) socket.destroy();
      if (error) callback(error, null);
      else callback(null, socket);
    };
    // Stays for the life of the socket: an error nobody listens to would end the process.
    socket.on('error', finish);
    socket.once('close', () => finish(new ConnectRefusal(CLOSED_EARLY)));
    socket.once('connect', () => {
      const address = socket.remoteAddress;
      const forbidden = address === undefined ? null : judge(address);
      if (address === undefined) finish(new ConnectRefusal(CLOSED_EARLY));
      if (forbidden !== null) finish(new ConnectRefusal(`forbidden address: ${forbidden}`));
    });
    socket.once(options.protocol === 'https:' ? 'secureConnect' : 'connect', () => finish(null));
  }

  return {
    connect,
    destroyAll() {
      for (const socket of sockets) socket.destroy();
    },
  };
}

function openSocket(options: buildConnector.Options, lookup: LookupFunction): Socket {
  const { hostname: host, port } = options;
  if (options.protocol !== 'https:') return openPlain({ host, port: Number(port || 80), lookup });
  const servername = isIP(host) === 0 ? { servername: host } : {};
  return openTls({ host, port: Number(port || 443), lookup, ALPNProtocols: ['http/1.1'], ...servername });
}

/** Lets only addresses through that may be connected to. */
function createJudgedLookup(judge: AddressJudge, resolve: Resolve): LookupFunction {
  return (hostname, options, done) => {
    resolve(hostname, (error, addresses) => {
      if (error) return done(error, '', 0);
      const allowed = addresses.filter(({ address }) => judge(address) === null);
      const first = allowed[0];
      if (!first) return done(new ConnectRefusal(refuseAll(judge, addresses)), '', 0);
      if (options.all) return done(null, [...allowed]);
      return done(null, first.address, first.family);
    });
  };
}

function refuseAll(judge: AddressJudge, addresses: readonly LookupAddress[]): string {
  const first = addresses[0];
  return first ? `forbidden address: ${judge(first.address)}` : 'DNS: no address';
}

function resolveHost(hostname: string, done: Parameters<Resolve>[1]): void {
  lookUpHost(hostname, { all: true }, (error, addresses) => done(error, addresses ?? []));
}
