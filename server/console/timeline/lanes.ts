/**
 * Reads from a task's history what a timeline draws: lanes with bars and marks, and how long each phase took.
 * There is a lane for each agent, and a first one for the time without an agent. Pure; times are seconds
 * since the submission.
 */
import { checkEnding, chooseWorst, describeEvent, type Tone } from './event-kinds.ts';
import type { Span as Time } from './scale.ts';

/** An entry of a task's history, as the contract defines it. Times are epoch seconds. */
export type HistoryEntry = {
  readonly time: number;
  readonly event: string;
  readonly agent_id: string | null;
  readonly detail: string | null;
  readonly count: number;
  readonly last_time: number;
};
/**
 * A span of time. `wait`: the task waits for an agent. `bad`: its agent has not taken it. `run`: it runs.
 * `silent`: its agent took it and gives no sign of life.
 */
type BarKind = 'wait' | 'bad' | 'run' | 'silent';
export type Bar = Time & {
  readonly kind: BarKind;
  /** Push attempts that were not taken; 0 for other kinds. */
  readonly attempts: number;
};
export type Mark = {
  readonly at: number;
  readonly entry: HistoryEntry;
  readonly count: number;
  /** The detail of the entry. Of several equal events in a row, only the last has it. */
  readonly detail: string | null;
};
export type Lane = {
  /** The agent; null for the time without one. */
  readonly agent_id: string | null;
  readonly bars: readonly Bar[];
  readonly marks: readonly Mark[];
};
/** Seconds by kind. Together they reach from the submission to the end. */
export type Phases = Readonly<Record<BarKind, number>>;
export type Drawing = {
  readonly lanes: readonly Lane[];
  readonly phases: Phases;
  /** Seconds from the submission to the end; for an open task, to now. */
  readonly end: number;
  /** All times at which something happened. */
  readonly moments: readonly number[];
  /** When the task waited for an agent and had none. */
  readonly waits: readonly Time[];
};
/** Marks that are drawn as one. */
export type MarkGroup = {
  /** Pixels from the left edge. */
  readonly px: number;
  readonly marks: readonly Mark[];
  /** How many events the marks stand for. */
  readonly count: number;
  readonly tone: Tone;
};

const MARK_GAP_PX = 11;
/** A wait shorter than this share of the whole has no lane of its own. */
const WAIT_SHARE = 0.02;
const TAKEN = new Set(['push_taken', 'acknowledged', 'claimed', 'progress']);

type MutableLane = { agent_id: string | null; bars: Bar[]; marks: Mark[] };
type Span = { lane: MutableLane; from: number; kind: BarKind; attempts: number; isTaken: boolean };

/**
 * Draws a history. `endTime` is when the task ended; for an open task, now. `silentTime` is the agent's last
 * contact if the agent was silent from then to the end, else null. Both are epoch seconds.
 */
export function drawHistory(
  history: readonly HistoryEntry[],
  endTime: number,
  silentTime: number | null,
): Drawing {
  const created = history[0]?.time ?? endTime;
  const end = Math.max(endTime - created, 0);
  const lanes: MutableLane[] = [];
  const laneOf = (agent_id: string | null): MutableLane => {
    const existing = lanes.find((lane) => lane.agent_id === agent_id);
    if (existing) return existing;
    const lane: MutableLane = { agent_id, bars: [], marks: [] };
    lanes.push(lane);
    return lane;
  };
  const firstAgent = history.find(({ agent_id }) => agent_id !== null);
  const waited = firstAgent ? firstAgent.time - created : end;
  const hasWaited = history.some(({ event, agent_id }) => event === 'waiting' && agent_id === null);
  const startsWithout = !firstAgent || hasWaited || waited > end * WAIT_SHARE;
  let span: Span = {
    lane: laneOf(startsWithout ? null : (firstAgent?.agent_id ?? null)),
    from: 0,
    kind: 'wait',
    attempts: 0,
    isTaken: false,
  };
  const phases: Record<BarKind, number> = { wait: 0, bad: 0, run: 0, silent: 0 };
  const waits: Time[] = [];
  const close = (to: number): void => {
    const { lane, from, kind, attempts } = span;
    phases[kind] += to - from;
    if (kind === 'wait') waits.push({ from, to });
    // A wait has no bar in an agent's lane.
    if (to > from && (kind !== 'wait' || lane.agent_id === null))
      lane.bars.push({ from, to, kind, attempts });
  };
  for (const entry of history) {
    const at = entry.time - created;
    span = advance(span, entry, at, laneOf, close);
    addMarks(span.lane, entry, at, entry.last_time - created);
  }
  // Unless the agent reported a result, nothing shows that it ever had the task.
  const isReported = history.some(({ event }) => event === 'success' || event === 'failed');
  if (span.kind === 'run' && !span.isTaken && !isReported) span = { ...span, kind: 'bad' };
  if (span.kind === 'run' && silentTime !== null && silentTime - created < end) {
    const from = Math.max(silentTime - created, span.from);
    close(from);
    span = { ...span, from, kind: 'silent' };
  }
  close(end);
  const moments = history.flatMap(({ time, last_time }) => [time - created, last_time - created]);
  return { lanes, phases, end, moments, waits };
}

/** Returns the span after an entry. If another span begins, closes the one before. */
function advance(
  span: Span,
  entry: HistoryEntry,
  at: number,
  laneOf: (agent_id: string | null) => MutableLane,
  close: (to: number) => void,
): Span {
  const { event, agent_id, count } = entry;
  const isNewAgent = agent_id !== null && (span.lane.agent_id !== agent_id || span.kind === 'wait');
  if ((event === 'assigned' || event === 'moved' || event === 'offered_again' || isNewAgent) && agent_id) {
    if (checkEnding(event)) return span;
    close(at);
    const attempts = event === 'push_not_taken' ? count : 0;
    const isTaken = TAKEN.has(event);
    return { lane: laneOf(agent_id), from: at, kind: attempts > 0 ? 'bad' : 'run', attempts, isTaken };
  }
  if (event === 'push_not_taken') return { ...span, kind: 'bad', attempts: span.attempts + count };
  if (!TAKEN.has(event)) return span;
  if (span.kind !== 'bad') return { ...span, isTaken: true };
  close(at);
  return { lane: span.lane, from: at, kind: 'run', attempts: 0, isTaken: true };
}

/**
 * Adds the marks of an entry: one for the first time and, if there were more, one for the rest at the last
 * time.
 */
function addMarks(lane: MutableLane, entry: HistoryEntry, at: number, lastAt: number): void {
  const { detail, count } = entry;
  lane.marks.push({ at, entry, count: 1, detail: count > 1 ? null : detail });
  if (count > 1) lane.marks.push({ at: lastAt, entry, count: count - 1, detail });
}

/** Joins marks that are nearer than 11 px to the first of their group. A group has its worst colour. */
export function groupMarks(marks: readonly Mark[], toPx: (seconds: number) => number): readonly MarkGroup[] {
  const groups: { px: number; marks: Mark[] }[] = [];
  for (const mark of marks.toSorted((a, b) => a.at - b.at)) {
    const px = toPx(mark.at);
    const last = groups.at(-1);
    if (last && px - last.px < MARK_GAP_PX) last.marks.push(mark);
    else groups.push({ px, marks: [mark] });
  }
  return groups.map((group) => ({
    ...group,
    count: group.marks.reduce((sum, { count }) => sum + count, 0),
    tone: chooseWorst(group.marks.map(({ entry }) => describeEvent(entry.event).markTone)),
  }));
}
