/**
 * How a suite prints what it measured and how much it tried. `npm run test:full` collects these lines into
 * tables; `npm test` only prints them.
 */

/** Prints one measurement. Over several runs the table shows the least and the greatest. */
export function printFigure(name: string, value: number, unit: string): void {
  const digits = Number.isInteger(value) || Math.abs(value) >= 100 ? 0 : 2;
  console.log(`figure: ${name} ${value.toFixed(digits)} ${unit}`);
}

/** Prints how much was tried, or counted. Over several runs the counts are added up. */
export function printTally(name: string, count: number, unit: string): void {
  console.log(`tally: ${name} ${count} ${unit}`);
}
