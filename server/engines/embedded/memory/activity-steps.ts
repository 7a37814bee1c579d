/**
 * The activity of the last steps: a record of each step in which something changed. Records of steps that are
 * over are written with the next group, so a crash loses at most the present one.
 */
import {
  type ActivityStep,
  buildActivity,
  isTimed,
  type Levels,
  STEP_MS,
  STEP_TAGS_MAX,
  STEPS_MAX,
  type StepRecord,
  stepOf,
} from '../../../domain/activity.ts';
import type { TaskOutcome } from '../../../domain/history-record.ts';
import type { Ending } from '../../../domain/projection.ts';
import { fillOutcomes } from '../../../domain/task-counts.ts';

type OpenRecord = StepRecord & {
  readonly ended: Record<TaskOutcome, number>;
  readonly took: Map<number, number>;
  readonly noAgent: Map<string, number>;
};

export type ActivitySteps = {
  /**
   * Begins the step of this time if it has not begun; it finds these levels, before what changes them.
   * Returns whether it began.
   */
  begin(nowMs: number, levels: Levels): boolean;
  /** A task settled, in the step that began last. */
  noteEnded(ending: Ending): void;
  /** Takes a record of an earlier generation. */
  load(record: StepRecord): void;
  read(present: Levels, nowMs: number): readonly ActivityStep[];
  /** The records that changed since they were taken, of steps that were over before this time. */
  takeChanged(beforeMs: number): readonly StepRecord[];
};

/** Creates it without records. */
export function createActivitySteps(): ActivitySteps {
  const records = new Map<number, OpenRecord>();
  const changed = new Set<OpenRecord>();
  let current: OpenRecord | null = null;

  function beginStep(atMs: number, before: Levels): OpenRecord {
    for (const { atMs: earlierMs } of records.values()) {
      if (earlierMs <= atMs - STEPS_MAX * STEP_MS) records.delete(earlierMs);
    }
    const record = records.get(atMs) ?? openRecord({ atMs, before });
    records.set(atMs, record);
    changed.add(record);
    return record;
  }

  return {
    begin(nowMs, levels) {
      if (current && nowMs < current.atMs + STEP_MS) return false;
      current = beginStep(stepOf(nowMs), levels);
      return true;
    },
    noteEnded({ task: { outcome }, tookIndex, noAgent }) {
      if (!current) return;
      changed.add(current);
      current.ended[outcome] += 1;
      if (isTimed(outcome)) addTo(current.took, tookIndex);
      for (const tag of noAgent) {
        if (current.noAgent.has(tag) || current.noAgent.size < STEP_TAGS_MAX) addTo(current.noAgent, tag);
      }
    },
    load: (record) => void records.set(record.atMs, openRecord(record)),
    read: (present, nowMs) => buildActivity([...records.values()], present, nowMs),
    takeChanged(beforeMs) {
      const taken = [...changed].filter(({ atMs }) => atMs + STEP_MS <= beforeMs);
      for (const record of taken) changed.delete(record);
      return taken;
    },
  };
}

function openRecord(record: Pick<StepRecord, 'atMs' | 'before'> & Partial<StepRecord>): OpenRecord {
  const { atMs, before, ended, took, noAgent } = record;
  return { atMs, before, ended: fillOutcomes(ended), took: new Map(took), noAgent: new Map(noAgent) };
}

function addTo<K>(counts: Map<K, number>, key: K): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
