/**
 * Puts together what observes the gateway: the counts and the log of what happens, and the metrics page that
 * is made of the counts and the gauges.
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
  /** Creates the function that renders all metrics, once there is something to read gauges from. */
  createMetricsPage(
    sources: Omit<GaugeSources, 'clock' | 'log'> & {
      readonly countDescriptors: () => Promise<number | null>;
    },
  ): () => Promise<MetricsText>;
  /** Logs what was only counted so far. Called when nothing more happens. */
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
