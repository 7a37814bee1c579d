/**
 * The counts: tasks by class, agents, bytes of output. Memory has the counts of the last transaction. A
 * transaction writes changed counts at its end. When a transaction fails, all counts are read again.
 */
import {
  isTimed,
  type Levels,
  levelsOf,
  STEP_MS,
  STEP_TAGS_MAX,
  STEPS_MAX,
  type StepRecord,
  stepOf,
} from '../../domain/activity.ts';
import type { TaskOutcome } from '../../domain/history-record.ts';
import { fillOutcomes } from '../../domain/task-counts.ts';
import type { EndingCall } from './calls.ts';
import { COUNT_NAMES } from './schema.ts';
import { type Prepare, parseOr } from './statements.ts';

export type CountName = (typeof COUNT_NAMES)[number];

export type Counters = {
  get(name: CountName): number;
  add(name: CountName, more: number): number;
  set(name: CountName, n: number): void;
  /**
   * Begins the present step of the activity. To be called before the number of waiting or running tasks
   * changes.
   */
  beginStep(nowMs: number): void;
  /** Counts a task that ends, in the totals and in the present step. */
  noteEnding(ending: EndingCall, nowMs: number): void;
  /** Writes the counts within the transaction if they changed. */
  save(): void;
  load(): void;
};

type OpenStep = StepRecord & {
  readonly ended: Record<TaskOutcome, number>;
  readonly took: Map<number, number>;
  readonly noAgent: Map<string, number>;
};

export const SELECT_COUNTS = `SELECT ${COUNT_NAMES.join(', ')}, step FROM count`;

export function createCounters(prepare: Prepare): Counters {
  const select = prepare(SELECT_COUNTS);
  const put = prepare(`UPDATE count SET ${COUNT_NAMES.map((name) => `${name} = ?`).join(', ')}, step = ?`);
  const putStep = prepare(
    'INSERT INTO step VALUES (?, ?) ON CONFLICT (at_ms) DO UPDATE SET json = excluded.json',
  );
  const dropSteps = prepare('DELETE FROM step WHERE at_ms <= ?');
  const counts = new Map<CountName, number>();
  let isChanged = false;
  let step: OpenStep | null = null;

  const get = (name: CountName): number => counts.get(name) ?? 0;
  const set = (name: CountName, n: number): void => {
    counts.set(name, n);
    isChanged = true;
  };
  const readLevels = (): Levels => levelsOf(get('pending') + get('running'), get('waiting'));

  function beginStep(nowMs: number): OpenStep {
    const atMs = stepOf(nowMs);
    if (step && atMs <= step.atMs) return step;
    if (step) putStep.run(step.atMs, writeStep(step));
    step = { atMs, before: readLevels(), ended: fillOutcomes(), took: new Map(), noAgent: new Map() };
    isChanged = true;
    dropSteps.run(atMs - STEPS_MAX * STEP_MS);
    return step;
  }

  const counters: Counters = {
    get,
    set,
    add(name, more) {
      set(name, get(name) + more);
      return get(name);
    },
    beginStep: (nowMs) => void beginStep(nowMs),
    noteEnding({ outcome, tookIndex, noAgent }, nowMs) {
      const present = beginStep(nowMs);
      present.ended[outcome as TaskOutcome] += 1;
      if (tookIndex !== null && isTimed(outcome as TaskOutcome)) addTo(present.took, tookIndex);
      for (const tag of noAgent) {
        if (present.noAgent.has(tag) || present.noAgent.size < STEP_TAGS_MAX) addTo(present.noAgent, tag);
      }
      counters.add(`ended_${outcome as TaskOutcome}`, 1);
    },
    save() {
      if (isChanged) put.run(...COUNT_NAMES.map(get), step && writeStep(step));
      isChanged = false;
    },
    load() {
      const row = select.get() ?? [];
      for (const [index, name] of COUNT_NAMES.entries()) counts.set(name, Number(row[index]));
      step = readStep(row[COUNT_NAMES.length]);
      isChanged = false;
    },
  };
  counters.load();
  return counters;
}

function addTo<K>(counts: Map<K, number>, key: K): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

function writeStep({ took, noAgent, ...step }: OpenStep): string {
  return JSON.stringify({ ...step, took: [...took], noAgent: [...noAgent] });
}

/** Reads a step from its text; null if the text is absent or damaged. */
export function readStep(json: unknown): OpenStep | null {
  const stored = parseOr(null, json);
  if (stored === null) return null;
  const { took, noAgent, ...step } = stored as StepRecord & Record<'took' | 'noAgent', never>;
  return { ...step, took: new Map(took), noAgent: new Map(noAgent) } as OpenStep;
}
