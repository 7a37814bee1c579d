/** Figures for the operator, and the tasks that ended last. Each commit keeps them; nothing scans. */
import { type ActivityStep, type Levels, levelsOf } from '../../domain/activity.ts';
import { type EndedTask, sortEnded } from '../../domain/ended-task.ts';
import type { TaskCounts } from '../../domain/task-counts.ts';
import type { Demand } from '../../ports/store.ts';
import type { Generation } from './generation.ts';

/** How many tasks are stored, and the demand, of at most `tagsMax` tags. */
export function readCounts({ settledCounts, indexes }: Generation, tagsMax: number): TaskCounts & Demand {
  const tags = indexes.listParts('waiting-for', tagsMax).map((tag) => ({
    tag,
    waiting: indexes.size('waiting-for', tag),
    oldestMs: timeOf(indexes.first('waiting-for', tag) ?? ''),
  }));
  const oldest = indexes.first('waiting', '');
  return {
    pending: indexes.size('open', 'pending'),
    running: indexes.size('open', 'running'),
    waiting: indexes.size('waiting', ''),
    waitingForAnswer: indexes.size('waiting-for-answer', ''),
    ended: settledCounts.read(),
    oldestWaitingMs: oldest === undefined ? null : timeOf(oldest),
    tagsTotal: indexes.countParts('waiting-for'),
    tags,
  };
}

/** The last steps, oldest first: how many tasks waited, ran and ended in each. */
export function readActivity(generation: Generation, nowMs: number): readonly ActivityStep[] {
  return generation.activity.read(readLevels(generation), nowMs);
}

/** The tasks that ended last, when all of them are durable. */
export async function readEnded({ ended, commits }: Generation): Promise<readonly EndedTask[]> {
  const tasks = sortEnded(ended.values());
  await commits.whenDurable(commits.lastSeq());
  return tasks;
}

/** How many tasks wait, and how many others are open. */
export function readLevels({ indexes }: Generation): Levels {
  const open = indexes.size('open', 'pending') + indexes.size('open', 'running');
  return levelsOf(open, indexes.size('waiting', ''));
}

/** The time with which a position begins. */
function timeOf(position: string): number {
  return Number(position.slice(0, position.indexOf('/')));
}
