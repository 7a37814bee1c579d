/** The HTTP server over a gateway in the test's hands, on a free port of the loopback. */
import { createHttp, HTTP_LIMITS, type HttpLimits, type HttpSettings } from '../../server/http/http.ts';
import type { Clock } from '../../server/ports/clock.ts';
import type { Gateway } from '../../server/ports/gateway.ts';

/** Holds what a URL must escape. */
export const SECRET = 'gateway+secret/1=&%25';
/** The one before, which is right as well for a while. */
export const OLDER_SECRET = 'older-secret';
export const ADMIN_SECRET = 'the-admin-secret';

/** What the server said while it worked. */
export type Said = { readonly level: string; readonly message: string; readonly facts: object };

export type Gate = {
  readonly url: string;
  readonly port: number;
  readonly said: readonly Said[];
  streamCount(): number;
  /** Drains, and closes what is left after the grace. */
  stop(graceMs?: number): Promise<void>;
};

export type GateOptions = {
  readonly limits?: Partial<HttpLimits>;
  readonly settings?: Partial<HttpSettings>;
  readonly clock?: Clock;
  readonly port?: number;
};

/** Time as it is. */
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

/** Starts a server; the test must stop it. */
export async function openGate(gateway: Gateway, options: GateOptions = {}): Promise<Gate> {
  const said: Said[] = [];
  const say =
    (level: string) =>
    (facts: object, message: string): void => {
      said.push({ level, message, facts });
    };
  const http = await createHttp({
    gateway,
    secrets: { gateway: [SECRET, OLDER_SECRET], admin: [ADMIN_SECRET] },
    limits: { ...HTTP_LIMITS, ...options.limits },
    settings: { isAgentAuthRequired: false, corsOrigins: [], ...options.settings },
    clock: options.clock ?? realClock,
    random: () => 0.5,
    log: { debug: say('debug'), info: say('info'), warn: say('warn'), error: say('error') },
  });
  const { port } = await http.listen({ port: options.port ?? 0, host: '127.0.0.1' });
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    said,
    streamCount: http.streamCount,
    stop: (graceMs = 1_000) => http.drain(graceMs),
  };
}
