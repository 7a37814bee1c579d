/** The benchmark's results for people: tables in Markdown, and bars in SVG. */
import { cpus, totalmem } from 'node:os';
import { GROWTH_CALLS, type Growth } from './growth.ts';
import type { Measured, Round } from './lifecycle.ts';
import type { Streaming } from './streams.ts';

/** The machine, in one line. */
export function describeMachine(): string {
  const memory = (totalmem() / 2 ** 30).toFixed(0);
  return `${cpus().length} cores (${cpus()[0]?.model}), ${memory} GiB, Linux, Node ${process.version}`;
}

/**
 * The table of one load. A figure of rounds is `least/median`; p50 and p99 are those of a round. Every ratio
 * is the median of the rounds' own ratios of CPU to the baseline in the same round.
 */
export function tabulateLoad(
  servers: readonly Measured[],
  load: string,
  baselines: readonly string[],
): string {
  const roundsOf = ({ rounds }: Measured): readonly Round[] => rounds.get(load) ?? [];
  const rows = servers.map((server) => {
    const rounds = roundsOf(server);
    const read = (value: (round: Round) => number, digits: number): string => {
      const values = rounds.map(value);
      return `${Math.min(...values).toFixed(digits)}/${median(values).toFixed(digits)}`;
    };
    const ratios = baselines.map((name) => {
      const baseline = servers.find((one) => one.name === name);
      const ratio = baseline ? divideRounds(rounds, roundsOf(baseline), ({ cpuMs }) => cpuMs) : Number.NaN;
      return Number.isNaN(ratio) ? '–' : ratio.toFixed(2);
    });
    return [
      server.name,
      read(({ cpuMs }) => cpuMs, 3),
      ...ratios,
      median(rounds.map(({ tasksPerSecond }) => tasksPerSecond)).toFixed(0),
      read(({ tookMs }) => percentileOf(tookMs, 0.5), 2),
      read(({ tookMs }) => percentileOf(tookMs, 0.99), 1),
      median(rounds.map(({ rssMb }) => rssMb)).toFixed(0),
    ];
  });
  const ratioHeads = baselines.map((name) => `÷ ${name}`);
  return tabulate(['server', 'CPU a task, ms', ...ratioHeads, 'tasks/s', 'p50, ms', 'p99, ms', 'MB'], rows);
}

/** The median of the rounds' own ratios of a figure; NaN when one of the two has no rounds. */
export function divideRounds(
  rounds: readonly Round[],
  others: readonly Round[],
  read: (round: Round) => number,
): number {
  return median(rounds.flatMap((round, n) => (others[n] ? [read(round) / read(others[n])] : [])));
}

/** The value below which this share of the numbers lies; NaN of none. */
export function percentileOf(numbers: readonly number[], share: number): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** What grows with what is stored: each row beside the first of its store. */
export function tabulateGrowth(stores: ReadonlyMap<string, readonly Growth[]>): string {
  const cells = [...stores].flatMap(([store, rows]) =>
    rows.flatMap((row) => {
      const { stored, open, startMs, memoryMb, cpuMs, storeBytes } = row;
      const counts = [stored.toLocaleString('en'), open.toLocaleString('en')];
      const costs = GROWTH_CALLS.map((call) => cpuMs[call].toFixed(3));
      const process = [startMs.toFixed(0), memoryMb.toFixed(0)];
      const figures = [store, ...counts, ...process, ...costs, storeBytes.toFixed(0)];
      const [least] = rows;
      if (!least || row === least) return [figures];
      const ratios = GROWTH_CALLS.map((call) => (cpuMs[call] / least.cpuMs[call]).toFixed(2));
      return [figures, ['', '', '÷ the first', '', '', ...ratios, '']];
    }),
  );
  const head = ['store', 'ended', 'waiting', 'start, ms', 'MB'];
  return tabulate([...head, ...GROWTH_CALLS, 'bytes a task'], cells);
}

/** What many streams cost. */
export function tabulateStreams(rows: readonly Streaming[]): string {
  return tabulate(
    ['streams', 'sessions', 'open all, ms', 'KiB each', 'event to all, ms: p50', 'most', 'µs CPU each'],
    rows.map(({ streams, sessions, openMs, memoryKiB, p50Ms, mostMs, cpuUs }) => [
      streams.toLocaleString('en'),
      String(sessions),
      openMs.toFixed(0),
      memoryKiB.toFixed(1),
      p50Ms.toFixed(0),
      mostMs.toFixed(0),
      cpuUs.toFixed(1),
    ]),
  );
}

/** Horizontal bars with their values: shorter is better where the title says so. */
export function drawBars(title: string, bars: readonly { name: string; value: number }[]): string {
  const longest = Math.max(...bars.map(({ value }) => value));
  const height = 44 + bars.length * 30;
  const rows = bars.map(({ name, value }, n) => {
    const y = 40 + n * 30;
    const width = Math.max(1, (value / longest) * 330);
    const text = escapeXml(name);
    return (
      `<text x="210" y="${y + 15}" text-anchor="end">${text}</text>` +
      `<rect x="220" y="${y}" width="${width.toFixed(1)}" height="20" rx="3" fill="#3b7dd8"/>` +
      `<text x="${(228 + width).toFixed(1)}" y="${y + 15}">${value.toPrecision(3)}</text>`
    );
  });
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 ${height}" font-family="sans-serif" font-size="13">` +
    `<title>${escapeXml(title)}</title><rect width="640" height="${height}" fill="#ffffff"/>` +
    `<text x="16" y="24" font-size="15" font-weight="600">${escapeXml(title)}</text>${rows.join('')}</svg>\n`
  );
}

/** One curve with the greatest value of its axis; values below zero are not drawn. */
export function drawCurve(
  title: string,
  points: readonly { readonly x: number; readonly y: number }[],
): string {
  const lastX = Math.max(1, ...points.map(({ x }) => x));
  const mostY = Math.max(1, ...points.map(({ y }) => y));
  const at = ({ x, y }: { readonly x: number; readonly y: number }): string =>
    `${(50 + (x / lastX) * 570).toFixed(1)},${(260 - (Math.max(0, y) / mostY) * 210).toFixed(1)}`;
  return (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 290" font-family="sans-serif" font-size="13">' +
    `<title>${escapeXml(title)}</title><rect width="640" height="290" fill="#ffffff"/>` +
    `<text x="16" y="24" font-size="15" font-weight="600">${escapeXml(title)}</text>` +
    `<text x="44" y="54" text-anchor="end">${mostY.toFixed(0)}</text><text x="44" y="264" text-anchor="end">0</text>` +
    `<text x="620" y="282" text-anchor="end">${lastX.toFixed(0)}</text>` +
    '<path d="M50 50V260H620" fill="none" stroke="#888888"/>' +
    `<polyline points="${points.map(at).join(' ')}" fill="none" stroke="#3b7dd8" stroke-width="2"/></svg>\n`
  );
}

/** The middle one. */
export function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;
}

/** A table in Markdown. */
export function tabulate(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), `|${head.map(() => '---|').join('')}`, ...rows.map(line)].join('\n');
}

function escapeXml(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;');
}
