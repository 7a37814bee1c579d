/**
 * The port to a tracing library. The gateway makes five spans (`Hop`). Without a registered library
 * `startSpan()` returns undefined, and nothing is measured or read.
 */
import type { TraceContext } from '../domain/trace-context.ts';

/** The hops of a task through the gateway: submitted, matched, pushed, reported, and its event delivered. */
export type Hop = 'submit' | 'match' | 'push' | 'report' | 'deliver';

/** The attributes of a hop, named as in the contract. */
export type HopDetails = {
  readonly request_id?: string;
  readonly agent_id?: string;
  readonly status?: string | number;
};

export type Span = {
  /** The trace with this span as the parent of later spans. */
  readonly trace: TraceContext;
  /** Ends the span, as a failure if there is an error text. Call it once. */
  end(details?: HopDetails, error?: string): void;
};

export type Tracing = {
  /** Whether a library is registered. Only then it is worth reading a task for its trace. */
  isOn(): boolean;
  /** Begins a span; without a parent, it begins a trace of its own. Returns undefined without a library. */
  startSpan(hop: Hop, parent: TraceContext | undefined, details?: HopDetails): Span | undefined;
};

export const NO_TRACING: Tracing = { isOn: () => false, startSpan: () => undefined };
