/**
 * Sends assignments to agents. One attempt is one request on one connection: never pipelined, never repeated here,
 * never redirected. Nothing is thrown and nothing is left behind: every call settles, and `close()` ends every connection.
 */
import { randomBytes } from 'node:crypto';
import { Agent } from 'undici';
import type { Clock } from '../ports/clock.ts';
import type { Push, Pusher } from '../ports/pusher.ts';
import { createAddressJudge } from './address.ts';
import { ABANDONED_EARLY, createAttempt } from './attempt.ts';
import { createConnector, type Resolve } from './connector.ts';
import { LIMITS, type PushLimits } from './limits.ts';
import { untaken } from './outcome.ts';
import { createSigner, type Signer } from './signature.ts';

const IDLE_MAX_MS = 60_000;
const HEADER_BYTES_MAX = 16_384;

export type PusherDeps = {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** Signing secrets, the newest first; none: pushes are not signed. */
  readonly secrets: readonly string[];
  /** Addresses and networks; an empty `allow` allows all that may be allowed. */
  readonly allow: readonly string[];
  readonly deny: readonly string[];
  readonly limits?: Partial<PushLimits>;
  /** Resolves names; the system's resolver when absent. */
  readonly resolve?: Resolve;
};

/** Creates the pusher. Throws when a network of `allow` or `deny` cannot be read, and never afterwards. */
export function createPusher(deps: PusherDeps): Pusher {
  const limits = { ...LIMITS, ...deps.limits };
  const sign = createSigner(deps.secrets);
  const judge = createAddressJudge(deps);
  const { connectWithinMs } = limits;
  const connector = createConnector({
    judge,
    connectWithinMs,
    ...(deps.resolve ? { resolve: deps.resolve } : {}),
  });
  const agent = new Agent({
    connect: connector.connect,
    pipelining: 1,
    allowH2: false,
    // The attempt's own timer covers these.
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: limits.idleMs,
    keepAliveMaxTimeout: IDLE_MAX_MS,
    maxHeaderSize: HEADER_BYTES_MAX,
    maxOrigins: limits.originsMax,
  });
  const open = createOpenCount(limits);
  let closing: Promise<void> | null = null;

  return {
    push(push, signal) {
      const target = readTarget(push.endpoint);
      if (typeof target === 'string') return Promise.resolve(untaken(target));
      if (closing || signal.aborted) return Promise.resolve(untaken(ABANDONED_EARLY));
      const request = writeRequest(push, sign);
      if (typeof request === 'string') return Promise.resolve(untaken(request));
      const refusal = open.enter(target.origin);
      if (refusal !== null) return Promise.resolve(untaken(refusal));
      const leave = () => open.leave(target.origin);
      return new Promise((resolve) => {
        const startedMs = deps.clock.monotonicMs();
        const nowMs = () => push.nowMs + deps.clock.monotonicMs() - startedMs;
        agent.dispatch(
          { ...target, ...request },
          createAttempt({ limits, signal, nowMs, settle: resolve, leave }),
        );
      });
    },

    close() {
      closing ??= agent.destroy().then(() => connector.destroyAll());
      return closing;
    },
  };
}

type Target = { readonly origin: string; readonly path: string };

/** Where an endpoint is, or why it is nowhere. It was judged at registration; a record may be older than the rules. */
function readTarget(endpoint: string): Target | string {
  const url = URL.parse(endpoint);
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    return 'the endpoint is no http(s) URL';
  if (url.username !== '' || url.password !== '') return 'the endpoint holds credentials';
  return { origin: url.origin, path: `${url.pathname}${url.search}` };
}

/** The request of the agent's contract: the whole TaskInfo, named and signed as Standard Webhooks asks. */
function writeRequest(push: Push, sign: Signer) {
  const body = writeBody(push.task);
  if (!body) return 'the task cannot be written as JSON';
  const id = push.task.request_id;
  const timestampSeconds = Math.floor(push.nowMs / 1_000);
  const headers = [
    ...['content-type', 'application/json', 'user-agent', 'task-gateway'],
    ...['webhook-id', id, 'webhook-timestamp', String(timestampSeconds)],
    ...['task-remaining', writeSeconds(push.remainingSeconds), 'traceparent', writeTraceparent()],
  ];
  const signature = sign(id, timestampSeconds, body);
  if (signature !== null) headers.push('webhook-signature', signature);
  return { method: 'POST', headers, body } as const;
}

/** Payloads come from JSON and are bounded, so this succeeds; a push promises not to throw all the same. */
function writeBody(task: Push['task']): Buffer | undefined {
  try {
    return Buffer.from(JSON.stringify(task));
  } catch {
    return undefined;
  }
}

/** A decimal number, never in exponent form: milliseconds are the finest it tells. */
function writeSeconds(seconds: number): string {
  return String(Math.max(0, Math.round(seconds * 1_000) / 1_000));
}

/** A trace that begins here (W3C trace context), marked as sampled so that the agent's own tracing decides nothing away. */
function writeTraceparent(): string {
  const hex = randomBytes(24).toString('hex');
  return `00-${hex.slice(0, 32)}-${hex.slice(32)}-01`;
}

/** Counts attempts under way, in all and by origin; a refusal says which bound was met. */
function createOpenCount(limits: PushLimits) {
  const perOrigin = new Map<string, number>();
  let all = 0;
  return {
    enter(origin: string): string | null {
      const count = perOrigin.get(origin) ?? 0;
      if (all >= limits.openMax) return `${limits.openMax} pushes are open already`;
      if (count >= limits.openPerOriginMax)
        return `${limits.openPerOriginMax} pushes to this endpoint are open already`;
      perOrigin.set(origin, count + 1);
      all += 1;
      return null;
    },
    leave(origin: string): void {
      const count = perOrigin.get(origin) ?? 0;
      if (count > 1) perOrigin.set(origin, count - 1);
      else perOrigin.delete(origin);
      all -= 1;
    },
  };
}
