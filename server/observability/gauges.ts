/** The gauges. A scrape reads them from counts that are kept anyway. */
import { waitAtMost } from '../async/waiting.ts';
import type { Clock } from '../ports/clock.ts';
import type { Figures, TaskFigures } from '../ports/figures.ts';
import type { Log } from '../ports/log.ts';
import { type Health, type Store, StoreUnavailable } from '../ports/store.ts';
import { labelled, type Samples, single } from './counts.ts';

export type GaugeSources = {
  readonly clock: Clock;
  readonly log: Pick<Log, 'error'>;
  readonly store: Pick<Store, 'health'>;
  readonly figures: Figures;
  /** How many event streams are open. */
  readonly streamCount: () => number;
  readonly openTasksMax: number;
  readonly version: string;
  readonly storeKind: 'memory' | 'sqlite' | 'redis';
};

/** If the store takes longer to reply, a scrape counts it as out instead of waiting. */
const STORE_WITHIN_MS = 2_000;

/** The disk takes no new tasks, agents and output. */
const STAGE_NEARLY_FULL = 1;
/** The disk takes no writes, but can be read. */
const STAGE_READ_ONLY = 2;

/** Reads all gauges. During an outage, the figures of the store are left out. Never rejects. */
export async function readGauges(sources: GaugeSources): Promise<Samples> {
  const { store, figures, streamCount, openTasksMax, version, storeKind } = sources;
  const tasks = await readTasks(sources);
  const health = store.health();
  const { states, usedSlots, freeSlots, offlineSlots } = figures.agents();
  return {
    task_gateway_info: [{ labels: { version, store: storeKind }, value: 1 }],
    task_gateway_open_tasks_limit: single(openTasksMax),
    task_gateway_agents: labelled('state', states, (count) => count),
    task_gateway_slots_used: single(usedSlots),
    task_gateway_slots_free: single(freeSlots),
    task_gateway_slots_offline: single(offlineSlots),
    task_gateway_streams: single(streamCount()),
    task_gateway_store_up: single(health.ok ? 1 : 0),
    task_gateway_disk_stage: single(stageOf(health)),
    ...(tasks && describeTasks(tasks)),
    ...(tasks && storeKind === 'redis' && { task_gateway_redis_round_trip_seconds: seconds(tasks.readMs) }),
  };
}

function stageOf(health: Health): number {
  if (health.ok) return health.isNearlyFull ? STAGE_NEARLY_FULL : 0;
  return health.isReadable ? STAGE_READ_ONLY : 0;
}

async function readTasks({ clock, log, figures }: GaugeSources): Promise<TaskFigures | null> {
  try {
    const tasks = await waitAtMost(clock, STORE_WITHIN_MS, figures.readTasks());
    return tasks === 'late' ? null : tasks;
  } catch (error) {
    // The store logs its outage itself.
    if (!(error instanceof StoreUnavailable)) log.error({ err: error }, 'a scrape could not count the tasks');
    return null;
  }
}

function describeTasks(tasks: TaskFigures): Samples {
  const { pending, running, waiting, oldestWaitingMs, waitingTags, tagsWithoutAgent } = tasks;
  return {
    task_gateway_open_tasks: labelled('status', { pending, running }, (count) => count),
    task_gateway_waiting_tasks: single(waiting),
    task_gateway_oldest_waiting_task_age_seconds: seconds(oldestWaitingMs),
    task_gateway_waiting_tags: single(waitingTags),
    task_gateway_waiting_tags_without_agent: single(tagsWithoutAgent),
  };
}

function seconds(ms: number) {
  return single(ms / 1_000);
}
