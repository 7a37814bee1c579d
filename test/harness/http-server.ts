/** The HTTP server over a gateway that the test provides, on a free port of the loopback interface. */
import { createLargeWork, type LargeWork } from '../../server/async/large-work.ts';
import { createHttp, HTTP_LIMITS, type HttpLimits, type HttpSettings } from '../../server/http/http.ts';
import { createActivityLog } from '../../server/observability/activity-log.ts';
import type { Clock } from '../../server/ports/clock.ts';
import type { Gateway } from '../../server/ports/gateway.ts';
import type { Observer } from '../../server/ports/observer.ts';
import { UNOBSERVED } from './silent-log.ts';

/** A gateway secret with characters that a URL must escape. */
export const SECRET = 'gateway+secret/1=&%25';
/** The previous gateway secret, which is still valid. */
export const OLDER_SECRET = 'older-secret';
export const ADMIN_SECRET = 'the-admin-secret';

/** One line that the server logged. */
type LogLine = { readonly level: string; readonly message: string; readonly fields: object };

export type TestServer = {
  readonly url: string;
  readonly port: number;
  readonly logged: readonly LogLine[];
  streamCount(): number;
  /** Announces its end, like a gateway that waits before it drains. */
  announceEnd(): void;
  /** Drains, and closes connections that are still open after `graceMs`. */
  stop(graceMs?: number, keepsIdle?: boolean): Promise<void>;
};

export type TestServerOptions = {
  readonly limits?: Partial<HttpLimits>;
  readonly settings?: Partial<HttpSettings>;
  readonly clock?: Clock;
  readonly largeWork?: LargeWork;
  readonly port?: number;
  readonly observer?: Pick<Observer, 'noteRequest'>;
  readonly renderMetrics?: () => Promise<{ contentType: string; text: string }>;
};

export const realClock: Clock = {
  monotonicMs: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      if (signal?.aborted) done();
      else signal?.addEventListener('abort', done, { once: true });
    }),
};

/** Starts a server, which the test must stop. */
export async function startTestServer(
  gateway: Gateway,
  options: TestServerOptions = {},
): Promise<TestServer> {
  const logged: LogLine[] = [];
  const record =
    (level: string) =>
    (fields: object, message: string): void => {
      logged.push({ level, message, fields });
    };
  const log = {
    debug: record('debug'),
    info: record('info'),
    warn: record('warn'),
    error: record('error'),
  };
  const clock = options.clock ?? realClock;
  const http = await createHttp({
    gateway,
    secrets: { gateway: [SECRET, OLDER_SECRET], admin: [ADMIN_SECRET] },
    limits: { ...HTTP_LIMITS, ...options.limits },
    // The host that tests name which write their requests by hand.
    settings: { isAgentAuthRequired: false, corsOrigins: [], allowedHosts: ['a'], ...options.settings },
    clock,
    random: () => 0.5,
    largeWork: options.largeWork ?? createLargeWork(),
    observer: options.observer ?? { ...UNOBSERVED, ...createActivityLog({ log, clock }).observer },
    renderMetrics:
      options.renderMetrics ?? (async () => ({ contentType: 'text/plain', text: '# no metrics\n' })),
    log,
  });
  const { port } = await http.listen({ port: options.port ?? 0, host: '127.0.0.1' });
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    logged,
    streamCount: http.streamCount,
    announceEnd: http.announceEnd,
    stop: (graceMs = 1_000, keepsIdle = false) => http.drain({ graceMs, keepsIdle }),
  };
}
