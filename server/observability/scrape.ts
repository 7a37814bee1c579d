/**
 * Renders all metrics as Prometheus text. The first scrape loads the client library, and what that measures
 * of Node begins there. Scrapes within a second share one rendering, so they never cost more than one a
 * second.
 */
import { loadOnce } from '../async/load-once.ts';
import type { Clock } from '../ports/clock.ts';
import type { Samples } from './counts.ts';
import { createNodeMetrics } from './node-metrics.ts';
import { describeFamilies } from './text-families.ts';

type ScrapeDeps = {
  readonly clock: Clock;
  readonly readCounts: () => Samples;
  /** Never rejects. */
  readonly readGauges: () => Promise<Samples>;
  /** How many files and connections the process has open; null if the system does not say. */
  readonly countDescriptors: () => Promise<number | null>;
};

export type MetricsText = { readonly contentType: string; readonly text: string };

/** How long a rendered text is returned again. */
const KEEP_MS = 1_000;

/** Creates the function that renders the present metrics. */
export function createScrape(deps: ScrapeDeps): () => Promise<MetricsText> {
  const { clock } = deps;
  const loadNodeMetrics = loadOnce(() => createNodeMetrics(deps.countDescriptors));
  let last: Promise<MetricsText> | null = null;
  let startedMs = 0;
  let isRendering = false;

  async function render(): Promise<MetricsText> {
    const [{ Registry, read }, gauges] = await Promise.all([loadNodeMetrics(), deps.readGauges()]);
    const { families, delaySeconds } = await read();
    const delay = [{ labels: {}, value: delaySeconds }];
    const own = describeFamilies({
      ...gauges,
      ...deps.readCounts(),
      task_gateway_event_loop_delay_seconds: delay,
    });
    const text = await Registry.aggregate([own, families]).metrics();
    return { contentType: Registry.PROMETHEUS_CONTENT_TYPE, text };
  }

  return () => {
    if (last && (isRendering || clock.monotonicMs() - startedMs < KEEP_MS)) return last;
    startedMs = clock.monotonicMs();
    isRendering = true;
    last = render().finally(() => {
      isRendering = false;
    });
    return last;
  };
}
