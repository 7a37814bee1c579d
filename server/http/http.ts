/**
 * Assembles the gateway's HTTP server: the operations of the document, the pages beside them, the one way in
 * and out, and the start and end of the server.
 */
import type { AddressInfo } from 'node:net';
import type { Router as KoaRouter } from '@koa/router';
import Koa from 'koa';
import type { LargeWork } from '../async/large-work.ts';
import type { ConsoleMode } from '../ports/admin.ts';
import type { Clock, Random } from '../ports/clock.ts';
import type { Gateway } from '../ports/gateway.ts';
import type { Log } from '../ports/log.ts';
import type { Observer } from '../ports/observer.ts';
import { type CorsOrigins, describeHeaders } from './answers.ts';
import { API_LIMITS, type ApiDeps, createApi } from './api.ts';
import { createIndexPage, listConsoleRoutes } from './console.ts';
import { createHostRule } from './host-rule.ts';
import { createMiddleware } from './middleware.ts';
import { Router } from './node-http.ts';
import {
  buildIndex,
  DOCUMENT_PATHS,
  listDocsRoutes,
  listDocumentRoutes,
  readWholeDocument,
  servePage,
} from './pages.ts';
import { createMetricsRoute, createProbes, PROBE_PATHS } from './probes.ts';
import { createRemoteAddresses } from './remote-address.ts';
import { type BodyLimits, createBodyCollector } from './request/body-collector.ts';
import { longestRequestMs } from './request/body-reserve.ts';
import { loadContract } from './request/contract.ts';
import { createStallTimer, createUnreadBytes } from './response/unread-bytes.ts';
import { createServer, type ServerLimits } from './server.ts';
import type { StreamLimits } from './stream/admission.ts';
import { createStreams } from './stream/sse.ts';

/** How much callers may leave unread. */
type ReaderLimits = {
  /** Bytes of all responses and streams together; see `response/unread-bytes.ts`. */
  readonly unreadBytesMax: number;
  /** A reader that takes too little for this long is disconnected; see `createStallTimer`. */
  readonly stallMs: number;
};

export type HttpLimits = ApiDeps['limits'] &
  BodyLimits &
  StreamLimits &
  Omit<ServerLimits, 'longestRequestMs' | 'addressOf'> &
  ReaderLimits;

/** The limits of the contract. */
export const HTTP_LIMITS: HttpLimits = {
  ...API_LIMITS,
  smallBodiesBytesMax: 64 * 1024 * 1024,
  largeBodiesBytesMax: 192 * 1024 * 1024,
  connectionsMax: 30_000,
  headersMs: 10_000,
  requestMs: 30_000,
  largeBodyMs: 5_000,
  unreadBytesMax: 256 * 1024 * 1024,
  stallMs: 30_000,
};

export type HttpSettings = {
  /** Whether heartbeat, report and unregister must carry the secret. */
  readonly isAgentAuthRequired: boolean;
  /** Whether other machines may call for agents without the secret: then such calls learn of no task. */
  readonly areStrangersServed?: boolean;
  readonly corsOrigins: CorsOrigins;
  /** Networks of proxies that name the caller in `X-Forwarded-For` or `Forwarded`; default none. */
  readonly trustedProxies?: readonly string[];
  /** Whether a gateway secret is the public default one; see `host-rule.ts`. By default it is not. */
  readonly isSecretPublic?: boolean;
  /** Names that calls without a secret of the gateway's own may come under, beside those of its machine. */
  readonly allowedHosts?: readonly string[];
  /** Time between two pings of an event stream; default 15 s. */
  readonly pingIntervalMs?: number;
  /** Whether `/metrics` needs no secret; by default it needs that of the administrator. */
  readonly isMetricsPublic?: boolean;
  /** Whether the console is served; by default it is. */
  readonly console?: ConsoleMode;
};

const PING_INTERVAL_MS = 15_000;

export type HttpDeps = {
  readonly gateway: Gateway;
  /** The secrets that are accepted: two of each while one is being changed, else one. */
  readonly secrets: { readonly gateway: readonly string[]; readonly admin: readonly string[] };
  readonly limits: HttpLimits;
  readonly settings: HttpSettings;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly observer: Pick<Observer, 'noteRequest'>;
  readonly largeWork: LargeWork;
  /** Renders the metrics; see `probes.ts`. */
  readonly renderMetrics: () => Promise<{ readonly contentType: string; readonly text: string }>;
};

export type Http = {
  /** Starts to listen; resolves with the address. Port 0 selects a free one. */
  listen(at: { readonly port: number; readonly host: string }): Promise<AddressInfo>;
  /** Each compiles a piece of what has not been needed yet. */
  readonly preparations: readonly (() => void)[];
  /**
   * From now on readiness is a 503 and each connection closes after its response, and all calls are answered.
   * Open streams end with a time to reconnect; later ones go on. Idempotent.
   */
  announceEnd(): void;
  /**
   * Stops accepting connections and reports 503 as readiness; long polls return at once, and streams end with
   * a time to reconnect. Resolves when every connection has closed; those still open after `graceMs` are
   * closed then. Idempotent.
   */
  drain(graceMs: number): Promise<void>;
  /** How many event streams are open. */
  streamCount(): number;
  /** The version of the contract, which is the gateway's. */
  readonly version: string;
};

/** Assembles the server; it does not listen yet. Throws when an operation of the document has no handler. */
export async function createHttp(deps: HttpDeps): Promise<Http> {
  const contract = await loadContract(readWholeDocument());
  const [ending, draining] = [new AbortController(), new AbortController()];
  const addresses = createRemoteAddresses(deps.settings.trustedProxies ?? []);
  const unread = createUnreadBytes(deps.limits.unreadBytesMax, (unreadBytes) =>
    deps.log.debug({ unreadBytes }, 'a reader was disconnected: too much is unread'),
  );
  const writers = { unread };
  const streams = createStreams({
    ...deps,
    writers,
    pingIntervalMs: deps.settings.pingIntervalMs ?? PING_INTERVAL_MS,
  });
  const hostRule = createHostRule({ isSecretPublic: false, allowedHosts: [], ...deps.settings });
  const { answers, secrets, serve } = createApi({ ...deps, contract, hostRule, draining: draining.signal });
  const router = new Router({ sensitive: true, strict: true });
  const probes = createProbes(deps.gateway, ending.signal);
  router.get(PROBE_PATHS[0], probes.live);
  router.get(PROBE_PATHS[1], probes.ready);
  const isPublic = deps.settings.isMetricsPublic ?? false;
  const { requireHost } = answers;
  router.get('/metrics', createMetricsRoute({ secrets, isPublic, requireHost, render: deps.renderMetrics }));
  const openPaths = registerPages(router, contract.version, deps.settings.console ?? 'on');

  const app = new Koa();
  app.on('error', (error) => deps.log.debug({ error }, 'a response could not be sent'));
  app.use(
    createMiddleware({
      ...deps,
      answers,
      serve,
      collectBody: createBodyCollector(deps),
      peerOf: addresses.peerOf,
      openPaths,
      ending: ending.signal,
      writers,
      streams,
    }),
  );
  app.use(router.routes());
  const server = createServer(
    app.callback(),
    {
      ...deps.limits,
      longestRequestMs: longestRequestMs(deps.limits.requestMs, deps.limits.bodyBytesMax),
      addressOf: addresses.ofConnection,
    },
    describeHeaders(contract.version),
  );
  const stalls = createStallTimer(deps.clock, deps.limits.stallMs, server.responses);

  return {
    listen(at) {
      stalls.start();
      return server.listen(at);
    },
    preparations: contract.operations.map(({ prepare }) => prepare),
    announceEnd() {
      ending.abort();
      streams.endOpen();
    },
    async drain(graceMs) {
      await server.drain(graceMs, () => {
        ending.abort();
        draining.abort();
        streams.end();
      });
      stalls.stop();
    },
    streamCount: streams.count,
    version: contract.version,
  };
}

/** Registers the pages; returns the paths of those that any web page may read. */
function registerPages(router: KoaRouter, version: string, mode: ConsoleMode): ReadonlySet<string> {
  const hasConsole = mode !== 'off';
  const serveIndex = servePage(buildIndex(version));
  router.get('/', hasConsole ? createIndexPage(serveIndex) : serveIndex);
  const consoleRoutes = hasConsole ? listConsoleRoutes() : [];
  for (const { path, middleware } of [...listDocumentRoutes(), ...consoleRoutes, ...listDocsRoutes()])
    router.get(path, middleware);
  return new Set([...DOCUMENT_PATHS, ...PROBE_PATHS]);
}
