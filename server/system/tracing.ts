/**
 * Traces through `@opentelemetry/api`, if a person has registered a library with it before the start
 * (OPERATING.md says how). The API is loaded only then, so other gateways have neither its modules nor calls
 * to them.
 */
import type { Span as ApiSpan, SpanContext, Tracer } from '@opentelemetry/api';
import type { TraceContext } from '../domain/trace-context.ts';
import type { Log } from '../ports/log.ts';
import { type Hop, type HopDetails, NO_TRACING, type Span, type Tracing } from '../ports/tracing.ts';

type Api = typeof import('@opentelemetry/api');

/** Where every 1.x version of the API keeps what was registered with it. */
const REGISTERED = Symbol.for('opentelemetry.js.api.1');

/** Loads the API if a library is registered with it; else this process traces nothing. */
export async function loadTracing(log: Log): Promise<Tracing> {
  const registered: { readonly trace?: unknown; readonly version?: string } | undefined = Reflect.get(
    globalThis,
    REGISTERED,
  );
  if (registered?.trace === undefined) return NO_TRACING;
  const api = await import('@opentelemetry/api');
  if (api.trace.getTracerProvider() !== registered.trace) {
    log.warn(
      { registered: registered.version },
      'nothing is traced: the tracing library is registered with an older @opentelemetry/api than the gateway has; let both use the one of the gateway',
    );
    return NO_TRACING;
  }
  const tracer = api.trace.getTracer('task-gateway');
  return {
    isOn: () => true,
    startSpan: (hop, parent, details) => startSpan(api, tracer, hop, parent, details),
  };
}

function startSpan(
  api: Api,
  tracer: Tracer,
  hop: Hop,
  parent: TraceContext | undefined,
  details: HopDetails = {},
): Span | undefined {
  const { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } = api;
  const kinds = {
    submit: SpanKind.SERVER,
    match: SpanKind.INTERNAL,
    push: SpanKind.CLIENT,
    report: SpanKind.SERVER,
    deliver: SpanKind.PRODUCER,
  };
  const above = parent ? trace.setSpanContext(ROOT_CONTEXT, readParent(api, parent)) : ROOT_CONTEXT;
  const span = tracer.startSpan(hop, { kind: kinds[hop] }, above);
  if (!api.isSpanContextValid(span.spanContext())) return undefined;
  setDetails(span, details);
  return {
    trace: writeContext(span.spanContext()),
    end(more = {}, error) {
      setDetails(span, more);
      if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: error });
      span.end();
    },
  };
}

function setDetails(span: ApiSpan, details: HopDetails): void {
  for (const [name, value] of Object.entries(details)) span.setAttribute(`task_gateway.${name}`, value);
}

function readParent(api: Api, { traceparent, tracestate }: TraceContext): SpanContext {
  const [, traceId = '', spanId = '', flags = '00'] = traceparent.split('-');
  return {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16),
    isRemote: true,
    ...(tracestate !== undefined && { traceState: api.createTraceState(tracestate) }),
  };
}

function writeContext({ traceId, spanId, traceFlags, traceState }: SpanContext): TraceContext {
  const tracestate = traceState?.serialize();
  const flags = traceFlags.toString(16).padStart(2, '0');
  return { traceparent: `00-${traceId}-${spanId}-${flags}`, ...(tracestate && { tracestate }) };
}
