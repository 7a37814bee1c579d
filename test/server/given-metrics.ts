/** The page of metrics over figures that the test gives. */
import { createObservability } from '../../server/observability/observability.ts';
import type { Figures } from '../../server/ports/figures.ts';
import type { Observer } from '../../server/ports/observer.ts';
import { StoreUnavailable } from '../../server/ports/store.ts';
import { createFakeClock, type FakeClock } from '../harness/fake-clock.ts';
import { SILENT } from '../harness/silent-log.ts';

/** What the gateway says unless a test gives others. */
export const FIGURES: Figures = {
  agents: () => ({
    states: { ready: 2, processing: 1, draining: 0, offline: 4 },
    full: 0,
    failing: 0,
    usedSlots: 3,
    freeSlots: 5,
    unusableSlots: 0,
    offlineSlots: 2,
  }),
  readTasks: async () => ({
    pending: 7,
    running: 3,
    waiting: 6,
    oldestWaitingMs: 12_500,
    waitingTags: 2,
    tagsWithoutAgent: 1,
    readMs: 0.5,
  }),
};

type Page = { readonly observer: Observer; render(): Promise<string>; readonly clock: FakeClock };

/** Creates a page, and the observer whose counts it shows. */
export function createMetricsPage(
  figures: Partial<Figures> = {},
  storeKind: 'memory' | 'redis' = 'memory',
  isUp = true,
): Page {
  const clock = createFakeClock();
  const observability = createObservability({ clock, log: SILENT });
  const render = observability.createMetricsPage({
    store: { health: () => (isUp ? { ok: true } : { ok: false, outage: new StoreUnavailable('down') }) },
    figures: { ...FIGURES, ...figures },
    streamCount: () => 9,
    openTasksMax: 100,
    version: '1.2.3',
    storeKind,
    countDescriptors: async () => 42,
  });
  return { observer: observability.observer, clock, render: async () => (await render()).text };
}
