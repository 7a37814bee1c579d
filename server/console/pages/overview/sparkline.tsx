/** A line of the last minutes, without numbers: its counter has them. */
import type { VNode } from 'preact';

const HEIGHT = 28;
const BOTTOM = 26;
const RISE = 23;

/** Plots the points of the line on 100 × 28, each as `x y`. The highest value touches the top. Pure. */
export function plotPoints(values: readonly number[]): readonly string[] {
  const max = Math.max(...values, 1);
  const last = Math.max(values.length - 1, 1);
  return values.map((value, index) => {
    const x = ((index / last) * 100).toFixed(1);
    return `${x} ${(BOTTOM - (value / max) * RISE).toFixed(1)}`;
  });
}

export type SparklineProps = {
  readonly values: readonly number[];
  readonly tone?: 'wait' | 'bad' | undefined;
};

export function Sparkline({ values, tone }: SparklineProps): VNode {
  const points = plotPoints(values.length === 1 ? [...values, ...values] : values).join('L');
  return (
    <svg
      class={`spark ${tone ?? ''}`}
      viewBox={`0 0 100 ${HEIGHT}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      {points !== '' && <path class="a" d={`M0 ${HEIGHT}L${points}L100 ${HEIGHT}z`} />}
      {points !== '' && <path class="l" d={`M${points}`} />}
    </svg>
  );
}
