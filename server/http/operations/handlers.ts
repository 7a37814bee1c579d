/**
 * The type of each operation's handler, derived from the published document. It does not compile if a handler
 * is missing, reads an undeclared field or returns an undocumented reply.
 */
import type { operations } from '@task-gateway/contract';
import type { EventSource } from '../stream/event-frames.ts';

type DeepReadonly<T> = T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> } : T;

type BodyOf<Op> = Op extends { requestBody: { content: { 'application/json': infer Body } } }
  ? DeepReadonly<Body>
  : undefined;
type ParametersOf<Op, In extends 'path' | 'query' | 'header'> = Op extends { parameters: infer All }
  ? In extends keyof All
    ? NonNullable<All[In]>
    : never
  : never;

/** A validated request of an operation. Every value has the declared type. */
type Call<Op> = {
  readonly path: Readonly<ParametersOf<Op, 'path'>>;
  readonly query: Readonly<ParametersOf<Op, 'query'>>;
  /** Finds a header by its name; upper and lower case are equal. */
  header(name: (keyof ParametersOf<Op, 'header'> & string) | 'Accept'): string | undefined;
  readonly body: BodyOf<Op>;
  /** Whether the body carried a right secret. If not, optional fields that need one are ignored. */
  readonly isTrusted: boolean;
  /**
   * Fires when the caller disconnects or the server drains. Each call creates a signal, so call it only to
   * wait.
   */
  signal(): AbortSignal;
};

/** Waits are cut to this many seconds. */
const WAIT_SECONDS_MAX = 60;

/** The signal of a read that does not wait. */
export const NEVER = new AbortController().signal;

/** Limits the seconds that a call asks to wait; 0 if it asks for none. */
export function limitWait(seconds: number | undefined): number {
  return Math.min(seconds ?? 0, WAIT_SECONDS_MAX);
}

/**
 * A body that the handler renders as JSON itself, because it is too large to be one value: whole, or in parts
 * that the reader takes one by one.
 */
type RenderedBody = ({ readonly rendered: Buffer } | { readonly parts: AsyncIterable<string> }) & {
  readonly headers?: Readonly<Record<string, string>>;
};

/** A body, and headers of this operation beside those of every response. */
type BodyWithHeaders<Body> = { readonly body: Body; readonly headers?: Readonly<Record<string, string>> };

type Success = 200 | 204 | 304;
type ReplyWith<Status, Response> = Response extends { content: infer Content }
  ? { [Type in keyof Content]: ReplyOf<Status, Type, Content[Type]> }[keyof Content]
  : { readonly status: Status; readonly headers?: Readonly<Record<string, string>> };
type ReplyOf<Status, Type, Body> = Type extends 'text/event-stream'
  ? { readonly status: Status; readonly events: EventSource }
  : { readonly status: Status } & (BodyWithHeaders<DeepReadonly<Body>> | RenderedBody);

/** A success of an operation, as the document declares it. */
type Reply<Op> = Op extends { responses: infer Responses }
  ? { [Status in keyof Responses & Success]: ReplyWith<Status, Responses[Status]> }[keyof Responses & Success]
  : never;

/** One handler for each operation. A handler throws what the gateway throws, or a `Problem`. */
export type Handlers = {
  readonly [Op in keyof operations]: (
    call: Call<operations[Op]>,
  ) => Reply<operations[Op]> | Promise<Reply<operations[Op]>>;
};
