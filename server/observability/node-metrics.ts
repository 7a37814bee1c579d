/**
 * The metrics of the process and of Node, measured by the client library. Left out are metrics for which the
 * library would scan at each scrape: for example, to count connections it lists them all.
 */
import type { Registry } from '@prometheus-io/client';
import type { Family } from './text-families.ts';

export type NodeMetrics = {
  /** The library's registry, which renders families. */
  readonly Registry: typeof Registry;
  read(): Promise<{
    readonly families: readonly object[];
    /** How late the event loop was since the last reading: the 99th percentile. */
    readonly delaySeconds: number;
  }>;
};

/** Left out, because their cost grows with the open connections. */
const SCANNING = [
  ...['nodejs_active_handles', 'nodejs_active_handles_total'],
  ...['nodejs_active_requests', 'nodejs_active_requests_total'],
  ...['nodejs_active_resources', 'nodejs_active_resources_total'],
  'process_open_fds',
];

/** How often the library looks at the event loop. Its figures include this interval. */
const LOOK_EVERY_MS = 20;
const DELAY = 'nodejs_eventloop_lag_p99_seconds';

/** Loads the library and begins to measure. */
export async function createNodeMetrics(
  countDescriptors: () => Promise<number | null>,
): Promise<NodeMetrics> {
  const { default: client } = await import('@prometheus-io/client');
  const { Registry, collectDefaultMetrics } = client;
  const register = new Registry();
  collectDefaultMetrics({ register, eventLoopMonitoringPrecision: LOOK_EVERY_MS });
  for (const name of SCANNING) register.removeSingleMetric(name);
  return {
    Registry,
    async read() {
      const [measured, descriptors] = await Promise.all([register.getMetricsAsJSON(), countDescriptors()]);
      const lag = measured.find(({ name }) => name === DELAY)?.values[0]?.value ?? 0;
      const delaySeconds = Number.isFinite(lag) ? Math.max(0, lag - LOOK_EVERY_MS / 1_000) : 0;
      // Without this the library would add up figures or leave them out, as if they came from several
      // processes.
      const families = measured.map((family) => ({ ...family, aggregator: 'first' }));
      return { families: [...families, ...describeDescriptors(descriptors)], delaySeconds };
    },
  };
}

/** Describes the count of open files under the library's name for it. */
function describeDescriptors(count: number | null): readonly Family[] {
  if (count === null) return [];
  const help = 'Number of open file descriptors.';
  return [{ name: 'process_open_fds', help, type: 'gauge', values: [{ labels: {}, value: count }] }];
}
