/**
 * Reads from a task's history what a timeline draws: a lane an agent, the first one for the time without an
 * agent, with bars and marks, and how long the task waited, was not taken, ran, and had an agent that was
 * silent. Pure; times are seconds since the submission.
 */
import { checkEnding, chooseWorst, describeEvent, type Tone } from './event-kinds.ts';
import type { Span as Time } from './scale.ts';

/** An entry of a task's history, as the contract has it; times are epoch seconds. */
export type HistoryEntry = {
  readonly time: number;
  readonly event: string;
  readonly agent_id: string | null;
  readonly detail: string | null;
  readonly count: number;
  readonly last_time: number;
};
/**
 * A span of time: waiting for an agent, at an agent that did not take the task, running, or at an agent
 * that took it and gave no sign of life.
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
  /** The words of the entry at this moment: of several in a row only the last has them. */
  readonly detail: string | null;
};
export type Lane = {
  /** The agent; null for the time without one. */
  readonly agent_id: string | null;
  readonly bars: readonly Bar[];
  readonly marks: readonly Mark[];
};
/** Seconds by kind; the whole from the submission to the end. */
export type Phases = Readonly<Record<BarKind, number>>;
export type Drawing = {
  readonly lanes: readonly Lane[];
  readonly phases: Phases;
  /** Seconds from the submission to the end, of an open task to now. */
  readonly end: number;
  /** All times at which something happened. */
  readonly moments: readonly number[];
  /** When it waited for an agent and had none. */
  readonly waits: readonly Time[];
};
/** Marks that are drawn as one. */
export type MarkGroup = {
  /** Pixels from the left edge. */
  readonly px: number;
  readonly marks: readonly Mark[];
  /** How many things happened there. */
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
 * Draws a history. `endTime` is when the task ended, or now if it is open; `silentTime` is the last contact
 * of its agent if that was silent from then to the end, else null. Both are epoch seconds.
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
    // The moment before the first agent has no bar in the lane of that agent.
    if (to > from && (kind !== 'wait' || lane.agent_id === null))
      lane.bars.push({ from, to, kind, attempts });
  };
  for (const entry of history) {
    const at = entry.time - created;
    span = advance(span, entry, at, laneOf, close);
    addMarks(span.lane, entry, at, entry.last_time - created);
  }
  // Nothing says that the agent ever had it, unless it reported a result.
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

/** The span behind an entry; the one before it is closed where another begins. */
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

/** Several in a row have a mark for the first and one for the rest of them, at the time of the last. */
function addMarks(lane: MutableLane, entry: HistoryEntry, at: number, lastAt: number): void {
  const { detail, count } = entry;
  lane.marks.push({ at, entry, count: 1, detail: count > 1 ? null : detail });
  if (count > 1) lane.marks.push({ at: lastAt, entry, count: count - 1, detail });
}

/** Joins the marks of a lane that are nearer than 11 px to the first of a group, in the worst colour. */
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
