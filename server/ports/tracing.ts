/**
 * The port to a tracing library. The gateway has five spans, each placed by hand. Without a registered
 * library `startSpan()` returns undefined, and nothing is measured or read.
 */
import type { TraceContext } from '../domain/trace-context.ts';

/** The way of a task through the gateway: submitted, matched, pushed, reported, and its event delivered. */
export type Hop = 'submit' | 'match' | 'push' | 'report' | 'deliver';

/** The attributes of a hop; the names are those of the contract and of this document alone. */
export type HopDetails = {
  readonly request_id?: string;
  readonly agent_id?: string;
  readonly status?: string | number;
};

export type Span = {
  /** The span as the parent of what follows. */
  readonly trace: TraceContext;
  /** Ends the span, as a failure if there is an error text. Call it once. */
  end(details?: HopDetails, error?: string): void;
};

export type Tracing = {
  /** Whether a library is registered: only then is it worth to read a task for its trace. */
  isOn(): boolean;
  /** Begins a span, in a trace of its own when there is no parent; undefined without a library. */
  startSpan(hop: Hop, parent: TraceContext | undefined, details?: HopDetails): Span | undefined;
};

/** No library. */
export const NO_TRACING: Tracing = { isOn: () => false, startSpan: () => undefined };
