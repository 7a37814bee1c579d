/** The spans of a task's hops, and the trace of a task, which is kept with its submission. */
import type { TraceContext } from '../../domain/trace-context.ts';
import type { Store } from '../../ports/store.ts';
import type { Hop, HopDetails, Span, Tracing } from '../../ports/tracing.ts';

type Deps = { readonly store: Pick<Store, 'get'>; readonly tracing: Tracing };

/** Runs `work` within a span, if there is one. The span ends with `work`, as a failure if `work` throws. */
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

type TaskHop<T> = {
  readonly hop: Hop;
  readonly request_id: string;
  /** The trace that the call names; default: the trace in which the task was submitted. */
  readonly parent?: TraceContext | undefined;
  readonly work: () => Promise<T>;
  /** Returns the attributes of the hop from its result. */
  readonly describe: (result: T) => HopDetails;
};

/** Runs a hop within its span. Without a tracing library, only runs the work and reads nothing. */
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

/** If the task cannot be read, the work goes on, and reports the error itself. */
async function readTrace(store: Pick<Store, 'get'>, request_id: string): Promise<TraceContext | undefined> {
  return await store.get('input', request_id).then(
    (input) => input?.value.trace,
    () => undefined,
  );
}
