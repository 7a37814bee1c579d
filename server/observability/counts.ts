/**
 * The counters and histograms of this process: plain numbers that hot paths increment. Counting begins at the
 * start, even if nobody reads the counts, and costs some ten nanoseconds each time.
 */
import { outcomeOf } from '../domain/history.ts';
import { OUTCOMES, type TaskOutcome } from '../domain/history-record.ts';
import { isSettled } from '../domain/task.ts';
import type { CommitEnd, Observer } from '../ports/observer.ts';
import type { PushOutcome } from '../ports/pusher.ts';
import { COMMIT_ENDS, METRICS, type MetricName, PUSH_OUTCOMES } from './metrics-table.ts';

/**
 * The counts of a histogram: one for each bucket, and a last one for values above all bounds. For example,
 * with the bounds 0.1 and 1, the values 0.05, 0.5 and 7 are counted as 1, 1 and 1.
 */
export type Distribution = {
  readonly bounds: readonly number[];
  readonly counts: readonly number[];
  readonly sum: number;
};

/** One series of a metric. */
export type Sample = {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number | Distribution;
};

export type Samples = Partial<Record<MetricName, readonly Sample[]>>;

type HistogramName = {
  [N in MetricName]: (typeof METRICS)[N] extends { readonly buckets: readonly number[] } ? N : never;
}[MetricName];

type Histogram = {
  observe(ms: number): void;
  read(): Distribution;
};

export type Counts = {
  readonly observer: Pick<Observer, 'noteSubmitted' | 'noteStep' | 'notePush' | 'noteCommit' | 'noteRequest'>;
  read(): Samples;
};

export function createCounts(): Counts {
  let submitted = 0;
  let secretsRefused = 0;
  const ended = mapOf(OUTCOMES, () => 0);
  const waiting = createHistogram('task_gateway_task_waiting_seconds');
  const durations = mapOf(OUTCOMES, () => createHistogram('task_gateway_task_duration_seconds'));
  const pushes = mapOf(PUSH_OUTCOMES, () => createHistogram('task_gateway_push_duration_seconds'));
  const commits = mapOf(COMMIT_ENDS, () => createHistogram('task_gateway_commit_duration_seconds'));
  const requests = createRequestHistograms();

  return {
    observer: {
      noteSubmitted() {
        submitted += 1;
      },
      noteStep({ before, after, trigger }) {
        if (trigger.type === 'assign') {
          waiting.observe((after.delivery?.assignedMs ?? after.createdMs) - after.createdMs);
          return;
        }
        const outcome = isSettled(before.value) ? null : outcomeOf(after);
        if (outcome === null || after.settledMs === null) return;
        ended[outcome] += 1;
        durations[outcome].observe(after.settledMs - after.createdMs);
      },
      notePush: ({ outcome, ms }) => pushes[outcome.kind].observe(ms),
      noteCommit: (end, ms) => commits[end].observe(ms),
      noteRequest({ operation = 'other', status, code, ms }) {
        requests.find(operation, status).observe(ms);
        if (code === 'unauthorized') secretsRefused += 1;
      },
    },
    read: () => ({
      task_gateway_tasks_submitted_total: single(submitted),
      task_gateway_tasks_ended_total: labelled<TaskOutcome, number>('outcome', ended, (count) => count),
      task_gateway_task_waiting_seconds: single(waiting.read()),
      task_gateway_task_duration_seconds: labelled<TaskOutcome, Histogram>('outcome', durations, read),
      task_gateway_push_duration_seconds: labelled<PushOutcome['kind'], Histogram>('outcome', pushes, read),
      task_gateway_commit_duration_seconds: labelled<CommitEnd, Histogram>('result', commits, read),
      task_gateway_request_duration_seconds: requests.read(),
      task_gateway_secrets_refused_total: single(secretsRefused),
    }),
  };
}

/** There are few buckets, so a linear search is fast enough. */
function createHistogram(name: HistogramName): Histogram {
  const { buckets: bounds } = METRICS[name];
  const counts = new Float64Array(bounds.length + 1);
  let sum = 0;
  return {
    observe(ms) {
      const seconds = ms / 1_000;
      let bucket = 0;
      while (bucket < bounds.length && seconds > (bounds[bucket] ?? 0)) bucket += 1;
      counts[bucket] = (counts[bucket] ?? 0) + 1;
      sum += seconds;
    },
    read: () => ({ bounds, counts: [...counts], sum }),
  };
}

/** Histograms by operation and status. There is one for each status of the contract's operations. */
function createRequestHistograms(): {
  find(operation: string, status: number | null): Histogram;
  read(): readonly Sample[];
} {
  const byOperation = new Map<string, Map<number | null, Histogram>>();

  function find(operation: string, status: number | null): Histogram {
    const byStatus = byOperation.get(operation) ?? new Map<number | null, Histogram>();
    const found = byStatus.get(status);
    if (found) return found;
    const created = createHistogram('task_gateway_request_duration_seconds');
    byOperation.set(operation, byStatus.set(status, created));
    return created;
  }

  return {
    find,
    read: () =>
      [...byOperation].flatMap(([operation, byStatus]) =>
        [...byStatus].map(([status, histogram]) => ({
          labels: { operation, status: String(status ?? 'none') },
          value: histogram.read(),
        })),
      ),
  };
}

function read(histogram: Histogram): Distribution {
  return histogram.read();
}

/** The sample of a metric without labels. */
export function single(value: number | Distribution): readonly Sample[] {
  return [{ labels: {}, value }];
}

/** The samples of a metric with one label. The keys are the label's values. */
export function labelled<K extends string, V>(
  label: string,
  values: Readonly<Record<K, V>>,
  read: (value: V) => number | Distribution,
): readonly Sample[] {
  return Object.entries<V>(values).map(([name, value]) => ({
    labels: { [label]: name },
    value: read(value),
  }));
}

/** Creates a value for each name. */
function mapOf<K extends string, V>(names: readonly K[], create: () => V): Record<K, V> {
  return Object.fromEntries(names.map((name) => [name, create()])) as Record<K, V>;
}
