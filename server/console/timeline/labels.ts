/**
 * The labels in the lanes of a timeline: what a bar is, and how far a task had come at a mark. A label is
 * left out if it would cover a mark, a cut or another label; the table below has its text. Pure.
 */
import type { Bar, MarkGroup } from './lanes.ts';
import type { Scale } from './scale.ts';
import { formatPhase } from './time-words.ts';

/** The label of a bar. `x` is where it begins, in pixels. */
export type BarLabel = { readonly text: string; readonly x: number; readonly widthPx: number };
/** The label of a mark. `start` puts it at the right of the mark, `end` at its left. */
export type MarkLabel = { readonly text: string; readonly anchor: 'start' | 'end' };

/** How wide a character is drawn at most. */
const CHARACTER_PX = 6.4;
/** The distance between a mark and its label. */
const MARK_PX = 9;

/** Places the labels of a lane's bars. A bar that ends at `openEnd` still grows; null: no bar grows. */
export function placeBarLabels(
  bars: readonly Bar[],
  groups: readonly MarkGroup[],
  scale: Scale,
  openEnd: number | null,
): readonly BarLabel[] {
  return bars.flatMap((bar) => {
    const text = describeBar(bar, bar.to === openEnd);
    const widthPx = text.length * CHARACTER_PX;
    const x = findBarPlace(bar, groups, scale, widthPx + 12);
    return x === null ? [] : [{ text, x, widthPx }];
  });
}

/**
 * Finds a place inside the bar if it is wide enough, else behind it if nothing stands there; null if neither
 * is free.
 */
function findBarPlace(
  bar: Bar,
  groups: readonly MarkGroup[],
  { toPx, widthPx, cuts }: Scale,
  neededPx: number,
): number | null {
  const from = toPx(bar.from);
  const to = toPx(bar.to);
  const next = groups.find(({ px }) => px > from + 4)?.px ?? widthPx;
  const cut = cuts.find((one) => toPx(one.from) >= from);
  const inner = Math.min(to, next - 10, cut ? toPx(cut.from) : to);
  if (inner - from - 20 >= neededPx) return from + 22;
  const isFree = !groups.some(({ px }) => px > to + 4) && widthPx - to - 14 >= neededPx;
  return isFree ? to + 14 : null;
}

type Extent = readonly [fromPx: number, toPx: number];

/**
 * Places labels of progress beside their marks, from left to right. A label goes to a side that is free of
 * marks, cuts and other labels.
 */
export function placeMarkLabels(
  groups: readonly MarkGroup[],
  barLabels: readonly BarLabel[],
  { cuts, toPx, widthPx }: Scale,
): ReadonlyMap<MarkGroup, MarkLabel> {
  const taken: Extent[] = [
    ...groups.map(({ px }): Extent => [px - MARK_PX + 1, px + MARK_PX - 1]),
    ...cuts.map(({ from, to }): Extent => [toPx(from), toPx(to)]),
    ...barLabels.map((label): Extent => [label.x - 6, label.x + label.widthPx + 6]),
  ];
  const isFree = ([left, right]: Extent): boolean =>
    left >= 0 && right <= widthPx && !taken.some(([from, to]) => from < right && to > left);
  const placed = new Map<MarkGroup, MarkLabel>();
  for (const group of groups) {
    const text = readProgress(group);
    if (!text) continue;
    const neededPx = text.length * CHARACTER_PX;
    const sides: readonly (readonly [MarkLabel['anchor'], Extent])[] = [
      ['start', [group.px + MARK_PX, group.px + MARK_PX + neededPx]],
      ['end', [group.px - MARK_PX - neededPx, group.px - MARK_PX]],
    ];
    const free = sides.find(([, extent]) => isFree(extent));
    if (!free) continue;
    const [anchor, [from, to]] = free;
    placed.set(group, { text, anchor });
    taken.push([from - 6, to + 6]);
  }
  return placed;
}

/** The percentage of a group that is a single mark of progress; null for other groups. */
function readProgress({ marks }: MarkGroup): string | null {
  const [mark, ...others] = marks;
  return others.length === 0 && mark?.entry.event === 'progress' ? mark.detail : null;
}

function describeBar({ kind, from, to, attempts }: Bar, isOpen: boolean): string {
  const length = formatPhase(to - from, isOpen);
  if (kind === 'wait') return `waited ${length}`;
  if (kind === 'run') return `ran ${length}`;
  if (kind === 'silent') return `silent for ${length}`;
  if (attempts === 0) return `not taken for ${length}`;
  return `not taken, ${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}`;
}
