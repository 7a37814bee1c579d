/** Makes one call: with its options or the client's, and with the secret where the contract expects it. */
import { untilAborted } from './clock.ts';
import { requireNumber } from './errors.ts';
import { CALL_OPTION_NAMES, warnOfUnknownNames } from './option-names.ts';
import type { Guard } from './responses.ts';
import { type SecretSource, withSecret } from './secrets.ts';
import {
  type CallOptions,
  type CallSettings,
  exchange,
  type FetchResult,
  type Network,
} from './transport.ts';

export type CallsDeps = Network &
  CallSettings & {
    readonly baseUrl: string;
    readonly auth: SecretSource;
    readonly adminAuth: SecretSource;
    /** The header in which reads carry their secret: the administrator's if there is no other secret. */
    readonly readsBy: 'authorization' | 'x-admin-auth';
    readonly headers: Readonly<Record<string, string>>;
    readonly traceparent: (() => string | undefined) | undefined;
  };

/** Where a call carries its secret: as a field of its body, or in a header. */
type SecretIn = 'body' | 'authorization' | 'x-admin-auth';
/** What a request is built with: the headers of the call, and the `fetch` that sends it. */
type Init = {
  /** A header that is undefined is not sent. */
  readonly headers: Record<string, string | undefined>;
  readonly fetch: (request: Request) => Promise<Response>;
};
/** Builds a request and sends it. If its body carries the secret, it puts `auth` there. */
type SecretRequest = (init: Init, auth: string) => Promise<FetchResult>;

/**
 * Creates the function that makes one call. It takes the call's options, and the client's where these are
 * absent. The gateway may hold the call for `holdSeconds`, which are added to its timeout.
 */
export function createSend(deps: CallsDeps) {
  return async <Data>(
    options: CallOptions | undefined,
    secretIn: SecretIn,
    check: Guard<Data>,
    request: SecretRequest,
    holdSeconds?: number,
  ): Promise<Data> => {
    const readNumber = (name: 'timeoutMs' | 'maxRetries', least: number): number =>
      requireNumber({ name, value: options?.[name] }, deps[name], least);
    const holdMs = requireNumber({ name: 'wait', value: holdSeconds }, 0, 0) * 1_000;
    const timeoutMs = readNumber('timeoutMs', 1) + holdMs;
    const maxRetries = readNumber('maxRetries', 0);
    const { signal, onResponse } = options ?? {};
    warnOfUnknownNames('The options of calls', options, CALL_OPTION_NAMES);
    const source = secretIn === 'x-admin-auth' ? deps.adminAuth : deps.auth;
    const call = () =>
      withSecret(source, { clock: deps.clock, signal, timeoutMs }, (secret) =>
        exchange(
          deps,
          { signal, timeoutMs, maxRetries, onResponse },
          (fetch) =>
            request(
              {
                headers: {
                  traceparent: options?.traceparent ?? deps.traceparent?.(),
                  tracestate: options?.tracestate,
                  ...options?.headers,
                },
                fetch(one) {
                  // Set last, so that it replaces a header of the caller's in any spelling.
                  if (secretIn === 'authorization') one.headers.set(secretIn, `Bearer ${secret}`);
                  else if (secretIn !== 'body') one.headers.set(secretIn, secret);
                  return fetch(one);
                },
              },
              secret,
            ),
          check,
        ),
      );
    return await untilAborted(signal, call);
  };
}
