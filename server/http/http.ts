/**
 * Puts the gateway's HTTP together: the application of `app.ts` with all its pages, on the server of
 * `server.ts`.
 */
import type { AddressInfo } from 'node:net';
import type { LargeWork } from '../async/large-work.ts';
import type { ConsoleMode } from '../ports/admin.ts';
import type { Clock, Random } from '../ports/clock.ts';
import type { Gateway } from '../ports/gateway.ts';
import type { Log } from '../ports/log.ts';
import type { Observer } from '../ports/observer.ts';
import { API_LIMITS, type ApiLimits } from './api.ts';
import { createApp, describeHeaders, type Page } from './app.ts';
import { createIndexPage, listConsoleRoutes } from './console.ts';
import type { CorsOrigins } from './cors.ts';
import { createHostRule } from './host-rule.ts';
import { buildIndex, listDocsRoutes, listDocumentRoutes, readWholeDocument, servePage } from './pages.ts';
import { createMetricsRoute, createProbes, PROBE_PATHS } from './probes.ts';
import { createRemoteAddresses } from './remote-address.ts';
import { loadContract } from './request/contract.ts';
import { createSecrets } from './request/secrets.ts';
import { createReaders, type ReaderLimits } from './response/readers.ts';
import { createServer, type DrainOptions, type ServerLimits } from './server.ts';
import { createStreams } from './stream/sse.ts';

export type HttpLimits = ApiLimits & Omit<ServerLimits, 'addressOf'> & ReaderLimits;

/** The limits of the contract. */
export const HTTP_LIMITS: HttpLimits = {
  ...API_LIMITS,
  connectionsMax: 30_000,
  headersMs: 10_000,
  requestMs: 30_000,
  unreadBytesMax: 256 * 1024 * 1024,
  stallMs: 30_000,
};

export type HttpSettings = {
  /** Whether heartbeat, report and unregister must carry the secret. */
  readonly isAgentAuthRequired: boolean;
  /**
   * Whether other machines may call for agents without the secret. Responses to such calls then name no task.
   */
  readonly areStrangersServed?: boolean;
  readonly corsOrigins: CorsOrigins;
  /** Networks of proxies that name the caller in `X-Forwarded-For` or `Forwarded`; default none. */
  readonly trustedProxies?: readonly string[];
  /** Whether a gateway secret is the public default (`host-rule.ts`). Default: no. */
  readonly isSecretPublic?: boolean;
  /** More host names that calls without a gateway secret may use, beside names of this machine. */
  readonly allowedHosts?: readonly string[];
  /** Time between two pings of an event stream; default 15 s. */
  readonly pingIntervalMs?: number;
  /** Whether `/metrics` needs no secret. Default: it needs the administrator's secret. */
  readonly isMetricsPublic?: boolean;
  /** Whether the console is served, and what it may do. Default: `on`. */
  readonly console?: ConsoleMode;
};

export type HttpDeps = {
  readonly gateway: Gateway;
  /** The accepted secrets: two of each kind while a secret is being changed, else one. */
  readonly secrets: { readonly gateway: readonly string[]; readonly admin: readonly string[] };
  readonly limits: HttpLimits;
  readonly settings: HttpSettings;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly observer: Pick<Observer, 'noteRequest'>;
  readonly largeWork: LargeWork;
  /** Renders the metrics (`probes.ts`). */
  readonly renderMetrics: () => Promise<{ readonly contentType: string; readonly text: string }>;
};

export type Http = {
  /** Starts to listen; resolves with the address. Port 0 selects a free one. */
  listen(at: { readonly port: number; readonly host: string }): Promise<AddressInfo>;
  /** Each function compiles one part, which is otherwise compiled when it is first needed. */
  readonly preparations: readonly (() => void)[];
  /**
   * Makes readiness a 503, while calls are still answered. Open streams end and tell their readers when to
   * reconnect; later streams go on. Idempotent.
   */
  announceEnd(): void;
  /**
   * Stops accepting connections. Open connections close after their next response; the rest is closed after
   * `graceMs`. Long polls return at once, and streams tell their readers when to reconnect. Resolves when
   * every connection has closed. Idempotent.
   */
  drain(options: DrainOptions): Promise<void>;
  /** How many event streams are open. */
  streamCount(): number;
  /** The version of the contract, which is also the gateway's. */
  readonly version: string;
};

/** Assembles the server without listening. Throws if an operation of the document has no handler. */
export async function createHttp(deps: HttpDeps): Promise<Http> {
  const { limits, settings, log } = deps;
  const { trustedProxies = [], corsOrigins, pingIntervalMs } = settings;
  const contract = await loadContract(readWholeDocument());
  const [ending, draining] = [new AbortController(), new AbortController()];
  const readers = createReaders(limits, (unreadBytes) =>
    log.debug({ unreadBytes }, 'a reader was disconnected: too much is unread'),
  );
  const streams = createStreams({ ...deps, readers, pingIntervalMs });
  const shared = {
    contract,
    secrets: createSecrets(deps.secrets),
    hostRule: createHostRule({ isSecretPublic: false, allowedHosts: [], ...settings }),
  };
  const app = createApp({
    ...deps,
    ...shared,
    readers,
    streams,
    corsOrigins,
    trustedProxies,
    draining: draining.signal,
    pages: listPages(deps, { ...shared, ending: ending.signal }),
  });
  const addressOf = createRemoteAddresses(trustedProxies).ofConnection;
  const server = createServer(app.callback(), { ...limits, addressOf }, describeHeaders(contract.version));

  return {
    listen: server.listen,
    preparations: contract.operations.map(({ prepare }) => prepare),
    announceEnd() {
      ending.abort();
      streams.endOpen();
    },
    drain: (options) =>
      server.drain(options, () => {
        ending.abort();
        draining.abort();
        streams.end();
      }),
    streamCount: streams.count,
    version: contract.version,
  };
}

type Shared = Pick<Parameters<typeof createApp>[0], 'contract' | 'secrets' | 'hostRule'> & {
  readonly ending: AbortSignal;
};

function listPages(
  { gateway, settings, renderMetrics }: HttpDeps,
  { contract, secrets, hostRule, ending }: Shared,
): readonly Page[] {
  const hasConsole = (settings.console ?? 'on') !== 'off';
  const serveIndex = servePage(buildIndex(contract.version));
  const probes = createProbes(gateway, ending);
  const metrics = createMetricsRoute({
    secrets,
    isPublic: settings.isMetricsPublic ?? false,
    requireHost: hostRule.withoutSecret,
    render: renderMetrics,
  });
  return [
    { path: '/', middleware: hasConsole ? createIndexPage(serveIndex) : serveIndex, isOpen: true },
    ...listDocumentRoutes().map((page) => ({ ...page, isOpen: true })),
    { path: PROBE_PATHS[0], middleware: probes.live, isOpen: true },
    { path: PROBE_PATHS[1], middleware: probes.ready, isOpen: true },
    { path: '/metrics', middleware: metrics },
    ...(hasConsole ? listConsoleRoutes() : []),
    ...listDocsRoutes(),
  ];
}
