/**
 * Pushes without sockets. The pusher's request goes to a scripted agent, to a handler of the test, or out
 * through the platform's `fetch`. The response is classified like that of any push.
 */
import { parseEndpoint } from '../net/endpoint.ts';
import type { Clock } from '../ports/clock.ts';
import type { Pusher, PushOutcome } from '../ports/pusher.ts';
import { PUSH_LIMITS } from '../push/limits.ts';
import { buildPushRequest } from '../push/push-request.ts';
import { buildUnknown, buildUntaken, classifyResponse } from '../push/response-outcome.ts';
import { createSigner } from '../push/signature.ts';
import type { PushHandler } from './agent-script.ts';
import { describeHeaders, type Transcript } from './transcript.ts';
import type { Activity } from './virtual-clock.ts';

/** No process listens at the endpoint, so the agent certainly does not have the task. */
export class ConnectionRefused extends Error {
  override readonly name = 'ConnectionRefused';
}

type Deps = {
  readonly clock: Clock;
  /** The time of the world. */
  readonly wallMs: () => number;
  readonly transcript: Transcript;
  readonly activity: Activity;
  /** Secrets that sign pushes. Without any, pushes are not signed. */
  readonly pushSecrets: readonly string[];
  readonly createTraceparent: () => string;
  /** Finds the scripted agent of an endpoint. Its open pushes wait only for the world's time. */
  readonly findScripted: (endpoint: string) => PushHandler | undefined;
  /** Finds who else takes the pushes of an endpoint. */
  readonly findHandler: (endpoint: string) => PushHandler;
};

export type CountedPusher = Pusher & {
  /** How many pushes have no response yet. */
  openCount(): number;
  /** How many of the open pushes are not with a scripted agent. */
  outsideCount(): number;
};

export function createWorldPusher(deps: Deps): CountedPusher {
  const { clock, wallMs, transcript, activity, createTraceparent } = deps;
  const sign = createSigner(deps.pushSecrets);
  let pushes = 0;
  let open = 0;
  let outside = 0;

  function note(push: number, kind: string, fields: object): void {
    activity.noteDue();
    transcript.note(Object.assign({ kind, push }, fields));
  }

  return {
    openCount: () => open,
    outsideCount: () => outside,
    async push(push, signal, onSent = () => undefined) {
      pushes += 1;
      const number = pushes;
      const { endpoint } = push;
      const target = parseEndpoint(endpoint);
      if (typeof target === 'string') return buildUntaken(target);
      const built = buildPushRequest(push, wallMs(), sign, createTraceparent);
      if (typeof built === 'string') return buildUntaken(built);
      const headers = new Headers(pairUp(built.headers));
      note(number, 'push', {
        endpoint,
        headers: describeHeaders(headers),
        body: built.body.toString('utf8'),
      });
      const over = new AbortController();
      const scripted = deps.findScripted(endpoint);
      const isOutside = scripted === undefined;
      open += 1;
      if (isOutside) outside += 1;
      try {
        const request = new Request(endpoint, {
          method: 'POST',
          headers,
          body: new Uint8Array(built.body),
          redirect: 'manual',
          signal: AbortSignal.any([signal, over.signal]),
        });
        onSent();
        const response = await Promise.race([
          (scripted ?? deps.findHandler(endpoint))(request),
          abandon(signal),
          expire(clock, over.signal),
        ]);
        const outcome =
          response instanceof Response
            ? classifyResponse(response.status, response.headers.get('retry-after') ?? undefined, wallMs())
            : response;
        note(number, 'push_response', { status: outcome.status });
        return outcome;
      } catch (error) {
        const outcome = describeFailure(error);
        note(number, 'push_response', { status: null, error: outcome.kind });
        return outcome;
      } finally {
        open -= 1;
        if (isOutside) outside -= 1;
        over.abort();
        activity.note();
      }
    },
    close: async () => undefined,
  };
}

function pairUp(list: readonly string[]): [string, string][] {
  const pairs: [string, string][] = [];
  for (let index = 0; index < list.length; index += 2) pairs.push([list[index] ?? '', list[index + 1] ?? '']);
  return pairs;
}

function abandon(signal: AbortSignal): Promise<PushOutcome> {
  return new Promise((resolve) => {
    const end = (): void => resolve(buildUnknown('abandoned before a response'));
    if (signal.aborted) end();
    else signal.addEventListener('abort', end, { once: true });
  });
}

async function expire(clock: Clock, over: AbortSignal): Promise<PushOutcome> {
  const { responseWithinMs } = PUSH_LIMITS;
  await clock.sleep(responseWithinMs, over);
  return buildUnknown(`no response within ${responseWithinMs / 1_000} s`);
}

/** The agent certainly does not have the task only if nothing was written. */
function describeFailure(error: unknown): PushOutcome {
  if (error instanceof ConnectionRefused || findCode(error) === 'ECONNREFUSED') {
    return buildUntaken('connection refused');
  }
  return buildUnknown('the connection was closed before a response');
}

function findCode(error: unknown): unknown {
  for (let one = error; one instanceof Error; one = one.cause) if ('code' in one) return one.code;
  return undefined;
}
