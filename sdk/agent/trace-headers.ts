/** The trace that comes with a task, in the headers of W3C Trace Context. */

/** `traceparent` and, beside it, `tracestate`; or neither. */
export type TraceHeaders = Readonly<Record<string, string>>;

const TRACEPARENT = /^[\da-f]{2}-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}$/;

/** Returns what the headers name; nothing without a `traceparent` that can be passed on. */
export function readTraceHeaders(
  traceparent: string | null | undefined,
  tracestate: string | null | undefined,
): TraceHeaders {
  if (!traceparent || !TRACEPARENT.test(traceparent)) return {};
  const isPlain = /^[ -~]{1,512}$/.test(tracestate ?? '');
  return tracestate && isPlain ? { traceparent, tracestate } : { traceparent };
}
