/**
 * The answers to requests, in plain values: a reply, a problem or a stream. Every answer begins with the same
 * headers. If an error is thrown, it becomes a problem. When a path does not serve the method, the answer
 * lists the methods that it serves.
 */
import type { Log } from '../ports/log.ts';
import { CallerGone, describeProblem, Problem, type ProblemCode, toProblem } from './problems.ts';

/** The headers of a request, by their names in lower case. */
export type RequestHeaders = {
  readonly host?: string | undefined;
  readonly origin?: string | undefined;
  readonly authorization?: string | undefined;
  readonly 'content-type'?: string | undefined;
  readonly [name: string]: string | readonly string[] | undefined;
};

/** The bytes of a body. */
export type CollectedBody = {
  readonly bytes: Buffer;
  readonly isLarge: boolean;
  /** Returns its memory to the reserve, once nothing holds it. Idempotent. */
  readonly release: () => void;
};

/** A request of the API, in plain values. */
export type ApiRequest = {
  readonly method: string;
  /** As it was sent, for example `/api/cli/tasks/a%2Fb`: if it is escaped, it is decoded later. */
  readonly path: string;
  /** The part behind the `?`, for example `auth=secret&wait=5`; empty if there is none. */
  readonly query: string;
  readonly headers: RequestHeaders;
  /**
   * Collects the body that declares this many bytes, null where it declares none. Rejects with a `Problem`
   * (413, 408 or 503) or with `CallerGone`.
   */
  readonly readBody: (declaredBytes: number | null) => Promise<CollectedBody>;
  /** A signal that fires when the caller leaves. It is created on request. */
  readonly left: () => AbortSignal;
};

/** Headers by their names. */
export type Headers = Readonly<Record<string, string>>;
/** Names and values one after the other, as they are written: `['Allow', 'GET, OPTIONS']`. */
export type HeaderList = readonly string[];

/** The events of a session, or the output of a task, as frames. */
export type EventSource = {
  /** Whose frames they are: one has a limited number of streams. */
  readonly of: { readonly kind: 'session' | 'task'; readonly id: string };
  /** Replays, then follows until the signal fires. */
  open(signal: AbortSignal): AsyncIterable<Buffer>;
};

/** A body that is longer than its first part. When its reader is done or gone, the parts must be ended. */
export type Parts = {
  readonly first: string;
  /** Renders the next part. If it fails, the response must be cut off: its status has been sent. */
  next(): Promise<IteratorResult<string, void>>;
  end(): void;
};

/** Where a request belongs, for the log and the metrics. */
type Route = {
  /** The operation of the contract, if it is one. */
  readonly operation: string | undefined;
  /** The path as it is registered: `/api/cli/tasks/:request_id`. */
  readonly template: string | undefined;
};

/** The answer to a request: a reply, a problem or a stream. */
export type Answer = Route & {
  /** Null if the caller has left while its body was being read: no response can reach it. */
  readonly status: number | null;
  /** That of a problem. */
  readonly code: ProblemCode | 'caller_left' | undefined;
  /** In their order; the sender may add to them. */
  readonly headers: string[];
  readonly body: string | Buffer | Parts | EventSource | null;
  /** Of a stream: the answer instead of one that can't begin. */
  readonly refuse: ((error: unknown) => Answer) | undefined;
};

/** An answer as far as it is known before its request is looked at. */
export type Begun = Route & {
  readonly method: string;
  /** The headers that it begins with. */
  readonly first: HeaderList;
};

/** Builds a reply. If the method is HEAD, it has no body. */
export function buildReply(
  { operation, template, method }: Begun,
  status: number,
  headers: string[],
  body: Answer['body'],
  refuse?: Answer['refuse'],
): Answer {
  const isHead = method === 'HEAD';
  if (isHead && isInParts(body)) body.end();
  return { operation, template, status, code: undefined, headers, body: isHead ? null : body, refuse };
}

/** Whether a body is longer than its first part. */
export function isInParts(body: Answer['body']): body is Parts {
  return typeof body === 'object' && body !== null && 'next' in body;
}

/** Origins that may call. A `*` among them allows all; an empty list allows none. */
export type CorsOrigins = readonly string[];

/** Throws a `Problem` (421 or 403) for a request that must not be served under its `Host` or `Origin`. */
export type RequireHost = (headers: RequestHeaders) => void;

/** Which calls must come under a known `Host` and `Origin`; see `host-rule.ts`. */
export type HostRule = {
  /** Asked of each, before anything else is known of it. */
  readonly ofEveryCall: RequireHost;
  /** Asked of one that needs no secret and has none. */
  readonly withoutSecret: RequireHost;
};

/** The headers of every response. */
export function describeHeaders(version: string): Headers {
  return {
    'Task-Gateway-Version': version,
    'Cache-Control': 'no-store',
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
  };
}

/** Adds headers at the end of a list. If one is there already, it is replaced in its place. */
export function addHeaders(list: string[], added: Headers | undefined): string[] {
  for (const name in added) {
    const value = added[name] ?? '';
    const at = list.indexOf(name);
    if (at < 0) list.push(name, value);
    else list[at + 1] = value;
  }
  return list;
}

type Deps = {
  readonly version: string;
  readonly corsOrigins: CorsOrigins;
  readonly hostRule: HostRule;
  readonly log: Pick<Log, 'error'>;
};

export type Answers = {
  /**
   * The headers that the answer begins with; throws a `Problem` (421 or 403) where it must not be served.
   * `isOpen`: any web page may read it, under every name.
   */
  begin(headers: RequestHeaders, isOpen: boolean): HeaderList;
  /** Throws a `Problem` (421 or 403) where a call that needs no secret and has none must not be served. */
  readonly requireHost: RequireHost;
  /** The headers of an answer to a request that `begin()` refuses. */
  readonly everywhere: HeaderList;
  /**
   * The problem that an error becomes, unless the caller has left. The cause of an unexpected one is
   * logged.
   */
  fail(begun: Begun, error: unknown): Answer;
};

/** Creates the part that all answers share. */
export function createAnswers({ version, corsOrigins, hostRule, log }: Deps): Answers {
  const everywhere = Object.entries(describeHeaders(version)).flat();
  return {
    everywhere,
    requireHost: hostRule.withoutSecret,
    begin(headers, isOpen) {
      if (!isOpen) hostRule.ofEveryCall(headers);
      const { origin } = headers;
      if (origin === undefined) return everywhere;
      return [...everywhere, ...allowOrigin(isOpen ? ['*'] : corsOrigins, origin)];
    },
    fail({ operation, template, method, first }, error) {
      if (error instanceof CallerGone) {
        const code = 'caller_left';
        return { operation, template, status: null, code, headers: [], body: null, refuse: undefined };
      }
      const problem = toProblem(error);
      if (problem.code === 'internal') {
        log.error({ operation, detail: problem.message, error: problem.cause }, 'a request failed');
      }
      const { status, headers: own, body } = describeProblem(problem);
      const headers = addHeaders([...first], own);
      headers.push('Content-Type', 'application/problem+json');
      headers.push('Content-Length', String(Buffer.byteLength(body)));
      const sent = method === 'HEAD' ? null : body;
      return { operation, template, status, code: problem.code, headers, body: sent, refuse: undefined };
    },
  };
}

/**
 * The answer to a method that a path does not serve: 204 to OPTIONS (a browser's preflight). Throws a 405
 * with the methods of the path, or a 404 where it has none.
 */
export function answerMethod(begun: Begun, served: readonly string[]): Answer {
  if (served.length === 0) {
    throw new Problem(
      'route_not_found',
      'There is nothing at this path. The paths are listed at /openapi.json and /openapi.admin.json.',
    );
  }
  const allow = [...served, 'OPTIONS'].join(', ');
  if (begun.method !== 'OPTIONS') {
    throw new Problem('method_not_allowed', `This path serves ${allow}.`, { headers: { Allow: allow } });
  }
  const headers = [...begun.first, 'Allow', allow];
  if (begun.first.includes(ALLOW_ORIGIN)) {
    headers.push('Access-Control-Allow-Methods', allow, ...PREFLIGHT);
  }
  return buildReply(begun, 204, headers, null);
}

const ALLOW_ORIGIN = 'Access-Control-Allow-Origin';
/** The further headers of the response to a preflight whose origin is allowed. */
const PREFLIGHT = Object.entries({
  'Access-Control-Allow-Headers':
    'Authorization, Content-Type, Idempotency-Key, Last-Event-ID, X-Admin-Auth, If-None-Match, traceparent, tracestate',
  'Access-Control-Max-Age': '600',
}).flat();

/**
 * The headers that let a page of this origin read the response; none when it may not. Off by default:
 * without them a browser refuses to read it.
 */
function allowOrigin(allowed: CorsOrigins, origin: string): HeaderList {
  if (allowed.length === 0) return [];
  const isAll = allowed.includes('*');
  // The allowed origin differs from caller to caller, and a cache must know that.
  const vary = isAll ? [] : ['Vary', 'Origin'];
  if (!isAll && !allowed.includes(origin)) return vary;
  return [
    ...[ALLOW_ORIGIN, isAll ? '*' : origin],
    ...['Access-Control-Expose-Headers', 'Task-Gateway-Version, Retry-After, ETag, Task-Outcome'],
    ...vary,
  ];
}
