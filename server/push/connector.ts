/**
 * Opens the connections of pushes, only to allowed addresses. There are three checks, in this order. A
 * literal address is validated before a socket exists. A host name is validated by the addresses that it
 * resolves to now. The socket's remote address is validated again before anything is written. The callback of
 * a connection is called exactly once, within the time limit.
 */
import type { LookupAddress } from 'node:dns';
import { isIP, type LookupFunction, connect as openPlain, type Socket } from 'node:net';
import { connect as openTls } from 'node:tls';
import type { buildConnector } from 'undici';
import type { ValidateAddress } from './address.ts';
import { AttemptFailure } from './response-outcome.ts';

/** Resolves a name to all its addresses. */
export type Resolve = (
  hostname: string,
  done: (error: Error | null, addresses: readonly LookupAddress[]) => void,
) => void;

export type Connector = {
  /** Opens one connection for undici. Fails with an `AttemptFailure` or an error of Node. */
  readonly connect: buildConnector.connector;
  /** Ends every connection, even while it is being opened. */
  destroyAll(): void;
};

type Deps = {
  readonly validateAddress: ValidateAddress;
  /** The limit for lookup, connection and TLS handshake together. */
  readonly connectWithinMs: number;
  readonly resolve: Resolve;
};

/**
 * On a connection without traffic, TCP keep-alive starts after this long. It detects dead connections, and
 * keeps routers that translate addresses from dropping the connection.
 */
const KEEP_ALIVE_AFTER_MS = 60_000;
/**
 * Makes a write end when the operating system has taken the bytes, so that "sent" means that this process
 * holds nothing of a request. A TLS socket has one size for reading and writing, so up to this much may be
 * left.
 */
const SEND_WITHOUT_BUFFER = { writableHighWaterMark: 1 };
const TLS_BUFFER_BYTES = 16_384;
const CLOSED_EARLY = 'closed before anything was written';

/** Creates the connector. Its only state is the set of open sockets. */
export function createConnector(deps: Deps): Connector {
  const { validateAddress, connectWithinMs } = deps;
  const lookup = createAllowedLookup(validateAddress, deps.resolve);
  const sockets = new Set<Socket>();

  function connect(options: buildConnector.Options, callback: buildConnector.Callback): void {
    const { hostname } = options;
    const reason = isIP(hostname) === 0 ? null : validateAddress(hostname);
    if (reason !== null) {
      queueMicrotask(() => callback(new AttemptFailure(`forbidden address: ${reason}`), null));
      return;
    }
    const socket = openSocket(options, lookup);
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    socket.setNoDelay(true).setKeepAlive(true, KEEP_ALIVE_AFTER_MS);

    let finished = false;
    const timer = setTimeout(
      () => finish(new AttemptFailure(`no connection within ${connectWithinMs / 1_000} s`)),
      connectWithinMs,
    );
    const finish = (error: Error | null): void => {
      if (finished) return;
      finished = true;
      clearTimeout(timer);
      if (error) socket.destroy();
      if (error) callback(error, null);
      else callback(null, socket);
    };
    // The listener stays forever: an error event without a listener would end the process.
    socket.on('error', finish);
    socket.once('close', () => finish(new AttemptFailure(CLOSED_EARLY)));
    socket.once('connect', () => {
      const address = socket.remoteAddress;
      const forbidden = address === undefined ? null : validateAddress(address);
      if (address === undefined) finish(new AttemptFailure(CLOSED_EARLY));
      if (forbidden !== null) finish(new AttemptFailure(`forbidden address: ${forbidden}`));
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
  if (options.protocol !== 'https:') {
    return openPlain({ host, port: Number(port || 80), lookup, ...SEND_WITHOUT_BUFFER });
  }
  const servername = isIP(host) === 0 ? { servername: host } : {};
  const tls = { ALPNProtocols: ['http/1.1'], highWaterMark: TLS_BUFFER_BYTES, ...servername };
  return openTls({ host, port: Number(port || 443), lookup, ...tls });
}

/** Wraps a resolver so that it returns only allowed addresses. */
function createAllowedLookup(validateAddress: ValidateAddress, resolve: Resolve): LookupFunction {
  return (hostname, options, done) => {
    resolve(hostname, (error, addresses) => {
      if (error) return done(error, '', 0);
      const allowed = addresses.filter(({ address }) => validateAddress(address) === null);
      const first = allowed[0];
      if (!first) return done(new AttemptFailure(describeNoAddress(validateAddress, addresses)), '', 0);
      if (options.all) return done(null, [...allowed]);
      return done(null, first.address, first.family);
    });
  };
}

/** Says why no address can be used: the reason of the first one, or that there are none. */
function describeNoAddress(validateAddress: ValidateAddress, addresses: readonly LookupAddress[]): string {
  const first = addresses[0];
  return first ? `forbidden address: ${validateAddress(first.address)}` : 'DNS: no address';
}
