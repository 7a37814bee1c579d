/**
 * The labels in the lanes of a timeline: what a bar is, and how far a task had come at a mark. A label that
 * would be drawn over a mark, a cut or another label is left out: the table below has it. Pure.
 */
import type { Bar, MarkGroup } from './lanes.ts';
import type { Scale } from './scale.ts';
import { formatPhase } from './time-words.ts';

/** The label of a bar: `x` is where it begins, in pixels. */
export type BarLabel = { readonly text: string; readonly x: number; readonly widthPx: number };
/** The label of a mark, at the right of it (`start`) or at its left. */
export type MarkLabel = { readonly text: string; readonly anchor: 'start' | 'end' };

/** How wide a character is drawn at most. */
const CHARACTER_PX = 6.4;
/** From a mark to what may stand beside it. */
const MARK_PX = 9;

/** The labels of a lane's bars. A bar that ends at `openEnd` still grows; null: none does. */
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

/** In the bar if it is wide enough there, else behind it where nothing else stands; null if neither is. */
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
 * How far a task had come at its marks: for each group that has such a label, the side of it that is free.
 * They are placed from the left, each where nothing stands, other labels included.
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

/** The percentage of a single mark of progress. */
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
