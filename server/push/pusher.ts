/**
 * Sends assignments to agents. One attempt is one request on one connection: it is never pipelined, never
 * repeated here, and never follows a redirect. `push()` never throws or rejects: every call resolves with an
 * outcome. `close()` ends every connection.
 *
 * undici has a seventh of all modules, so it is loaded when it is first needed, or by `prepare()`.
 */
import { lookup } from 'node:dns';
import type { Agent } from 'undici';
import { loadOnce } from '../async/load-once.ts';
import { parseEndpoint } from '../net/endpoint.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import type { Pusher, PushOutcome } from '../ports/pusher.ts';
import { createAddressValidation } from './address.ts';
import { ABANDONED_EARLY, createAttempt } from './attempt.ts';
import { createConnector, type Resolve } from './connector.ts';
import { PUSH_LIMITS, type PushLimits } from './limits.ts';
import { buildPushRequest } from './push-request.ts';
import { createRequestBody } from './request-body.ts';
import { buildUntaken } from './response-outcome.ts';
import { createSigner } from './signature.ts';
import { createTraceparent } from './traceparent.ts';

/** An agent may ask for at most this with `Keep-Alive: timeout`. */
const IDLE_MAX_MS = 60_000;
/** The size of all headers of one response. */
const HEADER_BYTES_MAX = 16_384;

export type PusherDeps = {
  readonly clock: Clock;
  readonly log: Pick<Log, 'error'>;
  /** Signing secrets, the newest first. Without any, pushes are not signed. */
  readonly secrets: readonly string[];
  /** Addresses and networks. An empty `allow` allows all that are not forbidden. */
  readonly allow: readonly string[];
  readonly deny: readonly string[];
  readonly limits?: Partial<PushLimits>;
  /** The time of this host; default: the real one. */
  readonly wallMs?: () => number;
  /** Resolves names in place of the system's resolver. */
  readonly resolve?: Resolve;
};

const MISSING_CLIENT = 'the gateway cannot load its HTTP client; its log says why';

/** The system's resolver, which runs on the threads that `process-setup.js` asks for. */
const lookUp: Resolve = (hostname, done) => {
  lookup(hostname, { all: true }, (error, addresses = []) => done(error, addresses));
};

/** A pusher that can load what it needs before its first push: some 50 ms of work. */
export type PreparedPusher = Pusher & { prepare(): Promise<void> };

/** Creates the pusher. Throws if an entry of `allow` or `deny` cannot be parsed. */
export function createPusher(deps: PusherDeps): PreparedPusher {
  const { clock, wallMs = Date.now } = deps;
  const limits = { ...PUSH_LIMITS, ...deps.limits };
  const sign = createSigner(deps.secrets);
  const connector = createConnector({
    validateAddress: createAddressValidation(deps),
    connectWithinMs: limits.connectWithinMs,
    resolve: deps.resolve ?? lookUp,
  });
  let agent: Agent | null = null;
  let isMissing = false;
  const load = loadOnce(async () => {
    try {
      const loaded = await createAgent(connector.connect, limits);
      // If `close` ran meanwhile, there was nothing to destroy yet.
      if (closing) await loaded.destroy();
      agent = loaded;
      return loaded;
    } catch (error) {
      if (!isMissing) deps.log.error({ err: error }, 'no task can be pushed: undici cannot be loaded');
      isMissing = true;
      throw error;
    }
  });
  let closing: Promise<void> | null = null;

  return {
    // No closure here keeps the push or its body, because an attempt may stay open for minutes after it was
    // sent.
    push(push, signal, onSent = ignore) {
      // Checked at registration, but the agent may have been stored before the present rules.
      const target = parseEndpoint(push.endpoint);
      if (typeof target === 'string') return Promise.resolve(buildUntaken(target));
      if (closing || signal.aborted) return Promise.resolve(buildUntaken(ABANDONED_EARLY));
      const request = buildPushRequest(push, wallMs(), sign, createTraceparent);
      if (typeof request === 'string') return Promise.resolve(buildUntaken(request));
      const outcome = Promise.withResolvers<PushOutcome>();
      const { resolve } = outcome;
      const dispatch = (loaded: Agent): void => {
        if (signal.aborted) {
          resolve(buildUntaken(ABANDONED_EARLY));
          return;
        }
        const attempt = createAttempt({ limits, signal, clock, wallMs, resolve, onSent });
        const { method, headers, body } = request;
        loaded.dispatch({ ...target, method, headers, body: createRequestBody(body) }, attempt);
      };
      if (agent) dispatch(agent);
      else load().then(dispatch, () => resolve(buildUntaken(MISSING_CLIENT)));
      return outcome.promise;
    },

    async prepare() {
      // A failure is logged, and each push that needs undici fails.
      await load().catch(() => undefined);
    },

    close() {
      closing ??= (async () => {
        await agent?.destroy();
        await connector.destroyAll();
      })();
      return closing;
    },
  };
}

async function createAgent(
  connect: NonNullable<Agent.Options['connect']>,
  limits: PushLimits,
): Promise<Agent> {
  const { Agent } = await import('undici');
  return new Agent({
    connect,
    pipelining: 1,
    allowH2: false,
    // Off, because the attempt has its own timer.
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: limits.idleMs,
    keepAliveMaxTimeout: IDLE_MAX_MS,
    maxHeaderSize: HEADER_BYTES_MAX,
    maxOrigins: limits.originsMax,
  });
}

function ignore(): void {}
