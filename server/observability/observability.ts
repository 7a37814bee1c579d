/**
 * Puts together what observes the gateway: the counts, the log of what happens, and the metrics page with
 * counts and gauges.
 */
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import type { Observer } from '../ports/observer.ts';
import { createActivityLog } from './activity-log.ts';
import { createCounts } from './counts.ts';
import { type GaugeSources, readGauges } from './gauges.ts';
import { joinObservers } from './observers.ts';
import { createScrape, type MetricsText } from './scrape.ts';

export type Observability = {
  readonly observer: Observer;
  /** Creates the function that renders all metrics. Called once the sources of the gauges exist. */
  createMetricsPage(
    sources: Omit<GaugeSources, 'clock' | 'log'> & {
      readonly countDescriptors: () => Promise<number | null>;
    },
  ): () => Promise<MetricsText>;
  /** Logs what has only been counted so far. Called when nothing more will happen. */
  flush(): void;
};

export function createObservability(deps: { readonly clock: Clock; readonly log: Log }): Observability {
  const { clock, log } = deps;
  const counts = createCounts();
  const activity = createActivityLog(deps);
  return {
    observer: joinObservers([counts.observer, activity.observer]),
    createMetricsPage: ({ countDescriptors, ...sources }) =>
      createScrape({
        clock,
        countDescriptors,
        readCounts: counts.read,
        readGauges: () => readGauges({ clock, log, ...sources }),
      }),
    flush: activity.flush,
  };
}
