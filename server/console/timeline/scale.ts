/**
 * The scale of a timeline: seconds since the submission ↔ pixels. Pure.
 *
 *   linear        from 0 to the end. The end of an open task moves in steps of 1.5, so that marks rarely move
 *   cuts          a gap in which the task only waited for an agent is cut to 76 px, if it is over 60 % of the
 *                 whole and all else would have under 15 % of the width. There are at most two cuts, and no
 *                 run is ever cut
 *   ticks         1-2-5, then 15 s, 30 s, 1 min, 5 min …: at most 8. None is within 60 px of the end or in a
 *                 cut. Behind a cut only the end has a label
 */

/** A span of time, in seconds since the submission. */
export type Span = { readonly from: number; readonly to: number };
/** A gap that is not drawn to scale. */
export type Cut = Span;
export type Scale = {
  /** Seconds at the right edge. */
  readonly end: number;
  readonly widthPx: number;
  readonly cuts: readonly Cut[];
  /** Seconds at which the axis has a label: 0 first, the end last. */
  readonly ticks: readonly number[];
  /** Converts seconds to pixels from the left edge. Times beyond an edge are drawn at the edge. */
  toPx(seconds: number): number;
};

export const CUT_PX = 76;
const CUTS_MAX = 2;
const LONG_SHARE = 0.6;
const REST_SHARE = 0.15;
/** The smallest share of the whole that must remain after the first cut, and after the second. */
const REST_MIN = 1e-9;
const SECOND_REST_MIN = 0.005;
const TICKS_MAX = 8;
/**
 * The smallest distances of a label to the next one and to the last one. Labels of a minute or more are
 * longer.
 */
const LABEL_PX = { stepMin: 48, endMin: 60 };
const LONG_LABEL_PX = { stepMin: 72, endMin: 96 };
const OPEN_STEP = 1.5;
const OPEN_FIRST_SECONDS = 5;
/** Steps in which people count time. They follow the decimal steps. */
const LONG_STEPS = [15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 21_600, 43_200, 86_400];

/** Where the axis of an open task ends: at the next step beyond the seconds that have passed. */
export function chooseOpenEnd(seconds: number): number {
  if (seconds <= OPEN_FIRST_SECONDS) return OPEN_FIRST_SECONDS;
  const steps = Math.ceil(Math.log(seconds / OPEN_FIRST_SECONDS) / Math.log(OPEN_STEP) - 1e-9);
  return OPEN_FIRST_SECONDS * OPEN_STEP ** steps;
}

/** What a scale may cut. `moments` are the seconds at which something happened, in any order. */
export type Course = { readonly moments: readonly number[]; readonly waits: readonly Span[] };

/** Creates the scale from 0 to `end`. A cut lies between two moments, and within a wait. */
export function createScale(end: number, course: Course, widthPx: number): Scale {
  const whole = Math.max(end, 0.001);
  const cuts = findCuts(whole, course, widthPx);
  const drawnSeconds = whole - cuts.reduce((sum, { from, to }) => sum + to - from, 0);
  const drawnPx = Math.max(widthPx - CUT_PX * cuts.length, 1);
  const toPx = (seconds: number): number => {
    const at = Math.min(Math.max(seconds, 0), whole);
    let drawn = at;
    let cutPx = 0;
    for (const { from, to } of cuts) {
      if (at <= from) break;
      const within = Math.min(at, to) - from;
      drawn -= within;
      cutPx += (within / (to - from)) * CUT_PX;
    }
    return (drawn / drawnSeconds) * drawnPx + cutPx;
  };
  return { end: whole, widthPx, cuts, ticks: chooseTicks(whole, cuts, drawnSeconds / drawnPx, toPx), toPx };
}

/**
 * Finds the gaps to cut. The longest gap is tried first; the next one is compared with what remains. Returns
 * them by time.
 */
function findCuts(whole: number, { moments, waits }: Course, widthPx: number): readonly Cut[] {
  const inside = moments.filter((at) => at > 0 && at < whole);
  const sorted = [0, ...inside.toSorted((a, b) => a - b), whole];
  const gaps = sorted
    .slice(1)
    .map((to, index) => ({ from: sorted[index] ?? 0, to }))
    .filter((gap) => waits.some(({ from, to }) => gap.from >= from && gap.to <= to))
    .toSorted((a, b) => b.to - b.from - (a.to - a.from));
  const cuts: Cut[] = [];
  let remaining = whole;
  for (const gap of gaps.slice(0, CUTS_MAX)) {
    const seconds = gap.to - gap.from;
    const freePx = widthPx - CUT_PX * cuts.length;
    const restPx = ((remaining - seconds) / remaining) * freePx;
    const gainsPx = (seconds / remaining) * freePx > CUT_PX;
    if (seconds <= LONG_SHARE * remaining || restPx >= REST_SHARE * widthPx || !gainsPx) break;
    // If too little remains outside the gap, cutting the gap helps nothing.
    if (remaining - seconds < whole * (cuts.length === 0 ? REST_MIN : SECOND_REST_MIN)) break;
    cuts.push(gap);
    remaining -= seconds;
  }
  return cuts.toSorted((a, b) => a.from - b.from);
}

function chooseTicks(
  whole: number,
  cuts: readonly Cut[],
  secondsPerPx: number,
  toPx: (seconds: number) => number,
): readonly number[] {
  const until = cuts[0]?.from ?? whole;
  const endPx = toPx(whole);
  const { stepMin, endMin } = whole < 59.5 ? LABEL_PX : LONG_LABEL_PX;
  for (const step of listSteps(whole)) {
    if (step / secondsPerPx < stepMin) continue;
    const count = Math.floor(until / step);
    if (count > TICKS_MAX) continue;
    const inner = Array.from({ length: count }, (_, index) => (index + 1) * step).filter(
      (at) => at <= until && endPx - toPx(at) >= endMin,
    );
    if (inner.length + 2 <= TICKS_MAX) return [0, ...inner, whole];
  }
  return [0, whole];
}

/** Lists the steps from 1 ms on, the smallest first. */
function listSteps(whole: number): readonly number[] {
  const decimal = [-3, -2, -1, 0].flatMap((power) => [1, 2, 5].map((digit) => digit * 10 ** power));
  const days = [1, 2, 5, 10, 20, 50, 100].map((count) => count * 86_400).filter((step) => step <= whole);
  return [...decimal, 10, ...LONG_STEPS, ...days.slice(1)];
}
