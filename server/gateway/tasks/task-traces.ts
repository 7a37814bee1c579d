/** The spans of a task's hops, and the trace a task belongs to: it is kept with what was submitted. */
import type { TraceContext } from '../../domain/trace-context.ts';
import type { Store } from '../../ports/store.ts';
import type { Hop, HopDetails, Span, Tracing } from '../../ports/tracing.ts';

type Deps = { readonly store: Pick<Store, 'get'>; readonly tracing: Tracing };

/** Runs `work` within a span, if there is one. The span ends with it, as a failure if it throws. */
export function runInSpan<T>(
  span: Span | undefined,
  work: () => Promise<T>,
  describe: (result: T) => HopDetails,
): Promise<T> {
  return span ? endAfter(span, work, describe) : work();
}

async function endAfter<T>(
  span: Span,
  work: () => Promise<T>,
  describe: (result: T) => HopDetails,
): Promise<T> {
  try {
    const result = await work();
    span.end(describe(result));
    return result;
  } catch (error) {
    span.end({}, error instanceof Error ? error.message : 'failed');
    throw error;
  }
}

/** A hop of a task of which only the id is at hand. */
type TaskHop<T> = {
  readonly hop: Hop;
  readonly request_id: string;
  /** The trace that the call names; absent: the one that the task was submitted in. */
  readonly parent?: TraceContext | undefined;
  readonly work: () => Promise<T>;
  /** The attributes of the hop when its result is there. */
  readonly describe: (result: T) => HopDetails;
};

/** Runs a hop within its span. Without a library to trace with it only runs it, and reads nothing. */
export function runTaskHop<T>(deps: Deps, hop: TaskHop<T>): Promise<T> {
  return deps.tracing.isOn() ? runBelowTask(deps, hop) : hop.work();
}

async function runBelowTask<T>(
  { store, tracing }: Deps,
  { hop, request_id, parent, work, describe }: TaskHop<T>,
): Promise<T> {
  const above = parent ?? (await readTrace(store, request_id));
  return await runInSpan(tracing.startSpan(hop, above, { request_id }), work, describe);
}

/** If the task cannot be read, the work goes on: it meets the error itself and reports it. */
async function readTrace(store: Pick<Store, 'get'>, request_id: string): Promise<TraceContext | undefined> {
  return await store.get('input', request_id).then(
    (input) => input?.value.trace,
    () => undefined,
  );
}
