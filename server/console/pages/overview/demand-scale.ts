/**
 * How long the parts of the demand bars are. All rows have one linear scale, so that they can be compared. A
 * row that is far longer than the others is cut. Pure.
 */

/** A tag's tasks and slots, as the overview has them. */
export type Demand = {
  readonly waiting: number;
  readonly used: number;
  readonly free: number;
  readonly unusable: number;
};

/** Shares of the width, 0 to 1. */
export type DemandParts = {
  readonly used: number;
  readonly unusable: number;
  readonly free: number;
  readonly waiting: number;
  /** Whether the row is longer than its bar. Then the bar is cut, and the number stands beside it. */
  readonly isCut: boolean;
};

/** A row longer than this many times the median is cut. */
const CUT_FACTOR = 8;

/** Chooses how many slots the whole width stands for. */
export function chooseDemandScale(demands: readonly Demand[]): number {
  const lengths = demands
    .map(lengthOf)
    .filter((length) => length > 0)
    .sort((a, b) => a - b);
  const longest = lengths.at(-1) ?? 1;
  const median = lengths[Math.floor((lengths.length - 1) / 2)] ?? 1;
  const limit = median * CUT_FACTOR;
  if (longest <= limit) return longest;
  // The longest row that is not cut fills the width.
  return lengths.findLast((length) => length <= limit) ?? limit;
}

function lengthOf({ waiting, used, free, unusable }: Demand): number {
  return waiting + used + free + unusable;
}

/** The share of the width that a cut row has. The rest is for its zigzag and number. */
const CUT_SHARE = 0.86;

/** Measures the parts of one row's bar, from its left end. */
export function measureDemand(demand: Demand, scale: number): DemandParts {
  const { waiting, used, free, unusable } = demand;
  const length = lengthOf(demand);
  if (length <= scale) {
    const share = (count: number): number => count / scale;
    return {
      used: share(used),
      unusable: share(unusable),
      free: share(free),
      waiting: share(waiting),
      isCut: false,
    };
  }
  // A cut row loses its end. The slots keep their scale, unless they alone are too long.
  let left = CUT_SHARE;
  const take = (count: number): number => {
    const share = Math.min(count / scale, left);
    left -= share;
    return share;
  };
  const parts = { used: take(used), unusable: take(unusable), free: take(free), waiting: take(waiting) };
  return { ...parts, isCut: true };
}

/** `bad`: tasks ask for the tag and no agent is eligible. `wait`: tasks wait and no slot is free. */
export function classifyDemand(
  tag: Demand & { readonly eligible: number; readonly no_agent: number },
): 'bad' | 'wait' | 'ok' {
  if ((tag.waiting > 0 || tag.no_agent > 0) && tag.eligible === 0) return 'bad';
  return tag.waiting > 0 && tag.free === 0 ? 'wait' : 'ok';
}
