/**
 * The trace that a command belongs to. It goes from a program to those that it starts, in the variables
 * `TRACEPARENT` and `TRACESTATE`.
 */
import { readTraceHeaders } from '../agent/trace-headers.ts';
import type { TraceOptions } from '../transport.ts';
import type { Environment } from './terminal/terminal.ts';

/** Returns the trace of the environment; nothing if it is absent, or if no header could carry it. */
export function readTraceEnvironment({ TRACEPARENT, TRACESTATE }: Environment): TraceOptions {
  return readTraceHeaders(TRACEPARENT, TRACESTATE);
}

/** Returns the environment of a program that works on a task: with its trace, and never this command's. */
export function withTraceEnvironment(env: Environment, trace: TraceOptions): Environment {
  const { TRACEPARENT: _parent, TRACESTATE: _state, ...rest } = env;
  const { traceparent, tracestate } = trace;
  return {
    ...rest,
    ...(traceparent !== undefined && { TRACEPARENT: traceparent }),
    ...(tracestate !== undefined && { TRACESTATE: tracestate }),
  };
}
