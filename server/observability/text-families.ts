/** Turns samples into the plain objects that the client library renders: one family for each metric. */
import type { Distribution, Sample, Samples } from './counts.ts';
import { METRICS, type Metric, type MetricName } from './metrics-table.ts';

/** A value of a family. `metricName` is set if it differs from the family's name. */
type FamilyValue = {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
  readonly metricName?: string;
};

/** A metric with all its series, in the JSON form of the library. */
export type Family = {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly values: readonly FamilyValue[];
};

/** Returns the families of all metrics that have samples, in the order of the table. */
export function describeFamilies(samples: Samples): readonly Family[] {
  return (Object.keys(METRICS) as MetricName[]).flatMap((name) => {
    const found = samples[name];
    if (!found || found.length === 0) return [];
    const { type }: Metric = METRICS[name];
    return [
      { name, help: describeHelp(name), type, values: found.flatMap((sample) => valuesOf(name, sample)) },
    ];
  });
}

/** The help of a metric, with a sentence on what the figures of several replicas mean. */
function describeHelp(name: MetricName): string {
  const { help, of }: Metric = METRICS[name];
  const scope = of === 'process' ? 'Of this process.' : 'Of the whole store: every replica says the same.';
  return `${help} ${scope}`;
}

function valuesOf(name: string, { labels, value }: Sample): readonly FamilyValue[] {
  return typeof value === 'number' ? [{ labels, value }] : bucketsOf(name, labels, value);
}

/** Turns counts into cumulative buckets: each counts its values and those of all smaller buckets. */
function bucketsOf(
  name: string,
  labels: Sample['labels'],
  { bounds, counts, sum }: Distribution,
): readonly FamilyValue[] {
  let count = 0;
  const buckets = counts.map((inBucket, index) => {
    count += inBucket;
    const le = String(bounds[index] ?? '+Inf');
    return { labels: { ...labels, le }, value: count, metricName: `${name}_bucket` };
  });
  return [
    ...buckets,
    { labels, value: sum, metricName: `${name}_sum` },
    { labels, value: count, metricName: `${name}_count` },
  ];
}
