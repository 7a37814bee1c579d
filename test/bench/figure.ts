/**
 * How a suite tells what it measured and how much it tried. The long run collects these lines; among the output of
 * `npm test` they are there to be read.
 */

/** One measurement. Over several runs the least and the greatest are shown. */
export function tellFigure(name: string, value: number, unit: string): void {
  const digits = Number.isInteger(value) || Math.abs(value) >= 100 ? 0 : 2;
  console.log(`figure: ${name} ${value.toFixed(digits)} ${unit}`);
}

/** How much was tried, or counted. Over several runs it adds up. */
export function tellTally(name: string, count: number, unit: string): void {
  console.log(`tally: ${name} ${count} ${unit}`);
}
