/**
 * What party B's calls take alone, and what they take beside party A, who takes all it can: in the same run
 * on the same gateway. B calls from a thread of its own at a steady rate, whether or not its earlier calls
 * have returned: so neither A's work in the test nor a gateway that stands still slows its measurement down.
 */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { expect } from 'vitest';
import { buildCall, type Call } from '../../contract/usual-calls.ts';
import { submit } from '../../e2e/plain-calls.ts';
import { printFigure } from '../../harness/figures.ts';
import { ADMIN_SECRET, SECRET } from '../../harness/gateway-process.ts';
import { percentile } from '../process-cost.ts';
import type { CallerOptions, Sample } from './beside-caller.ts';

/** 1 in CI; more for a long run: how many times party A takes, and how long party B calls. */
export const SCALE = Number(process.env.BOUNDS_SCALE ?? 1);

/** Times of B's calls, and each status or error that was not a success. */
export type Measured = { readonly alone: Sample; readonly beside: Sample };

export type MeasureOptions = {
  /** Names the figures that are printed. */
  readonly name: string;
  readonly baseUrl: string;
  /** Party A: begins to take all it can; resolves when it holds it, with what ends it. */
  readonly takeAll: () => Promise<() => Promise<unknown>>;
  /** Party B's calls, one after the other at `everyMs`; by default a submission and a get. */
  readonly calls?: readonly Call[];
  /** Statuses of B's calls that count as success; 200 by default. */
  readonly statuses?: readonly number[];
  /** How long B calls, alone and then beside A; 3 s in CI. */
  readonly seconds?: number;
  readonly everyMs?: number;
};

const secrets = { gateway: SECRET, admin: ADMIN_SECRET };
const SECONDS = 3;
const EVERY_MS = 20;
/** The first calls compile what the others run. */
const WARM_UP_SECONDS = 1;
/** Beside A each call of B may take this many times what it took alone … */
const RATIO_MAX = 3;
/** … and below this it counts as served at once: CI's machines have other work. */
const AT_ONCE_MS = 250;

/**
 * A machine with other work delays some rounds, and a party that takes too much delays all of them: B is
 * measured beside A up to this many times, and its best round counts.
 */
const ROUNDS_MAX = 5;

/** B alone, by the gateway and the rate of its calls: it is the same beside several parties. */
const samplesAlone = new Map<string, Sample>();

async function remember(rate: string, measure: () => Promise<Sample>): Promise<Sample> {
  const sample = samplesAlone.get(rate) ?? (await measure());
  samplesAlone.set(rate, sample);
  return sample;
}

/**
 * Measures B alone, if it was not measured with these calls on this gateway, and then beside A; ends A, also
 * when something fails.
 */
export async function measureBeside(options: MeasureOptions): Promise<Measured> {
  const { baseUrl, statuses = [200], everyMs = EVERY_MS } = options;
  const calls = options.calls ?? [buildCall('submitTask', secrets), await buildGet(baseUrl)];
  const seconds = (options.seconds ?? SECONDS) * Math.min(10, SCALE);
  const callAtRate = (lengthSeconds: number): Promise<Sample> =>
    runCaller({ baseUrl, calls, statuses, everyMs, seconds: lengthSeconds });
  const rate = JSON.stringify([baseUrl, options.calls, statuses, everyMs, seconds]);
  const before = await remember(rate, async () => {
    await callAtRate(WARM_UP_SECONDS);
    return await callAtRate(seconds);
  });
  const end = await options.takeAll();
  let beside: Sample;
  try {
    beside = await measureRounds(before, () => callAtRate(seconds));
  } finally {
    await end();
  }
  const alone = await measureAgain(before, beside, () => callAtRate(seconds));
  printFigure(`${options.name}-alone-p99`, percentile(alone.tookMs, 0.99), 'ms');
  printFigure(`${options.name}-beside-p99`, percentile(beside.tookMs, 0.99), 'ms');
  return { alone, beside };
}

/**
 * Fails when a call of B failed beside A, or when B's 99th percentile is more than three times that of alone
 * and more than `atOnceMs` (250 ms), in each round. `TEST_FULL` asserts the bare ratio.
 */
export function expectUnaffected({ alone, beside }: Measured, atOnceMs = AT_ONCE_MS): void {
  expect(alone.failures, 'B alone').toEqual([]);
  expect(beside.failures, 'B beside A').toEqual([]);
  const aloneMs = percentile(alone.tookMs, 0.99);
  expect(percentile(beside.tookMs, 0.99), `alone it was ${aloneMs.toFixed(1)} ms`).toBeLessThan(
    longestAllowedMs(alone, atOnceMs),
  );
}

/** B's best round beside A, with the failures of all rounds. */
export async function measureRounds(alone: Sample, round: () => Promise<Sample>): Promise<Sample> {
  const failures: string[] = [];
  let best: Sample | null = null;
  for (let n = 0; n < ROUNDS_MAX; n += 1) {
    const sample = await round();
    failures.push(...sample.failures);
    if (!best || percentile(sample.tookMs, 0.99) < percentile(best.tookMs, 0.99)) best = sample;
    if (isUnaffected(best, alone)) break;
  }
  return { tookMs: best?.tookMs ?? [], failures };
}

/**
 * What B takes alone: a B that was slow beside A is measured alone once more. Where the machine has become
 * slow for everybody, that shows it.
 */
async function measureAgain(
  alone: Sample,
  beside: Sample,
  measure: () => Promise<Sample>,
  atOnceMs = AT_ONCE_MS,
): Promise<Sample> {
  return isUnaffected(beside, alone, atOnceMs) ? alone : pickSlower(alone, await measure());
}

/** Whether the first sample, of B beside A, is about as fast as B alone. */
function isUnaffected(beside: Sample, alone: Sample, atOnceMs = AT_ONCE_MS): boolean {
  return percentile(beside.tookMs, 0.99) < longestAllowedMs(alone, atOnceMs);
}

/** The slower of two samples, with the failures of both. */
function pickSlower(first: Sample, second: Sample): Sample {
  const slower = percentile(first.tookMs, 0.99) < percentile(second.tookMs, 0.99) ? second : first;
  return { tookMs: slower.tookMs, failures: [...first.failures, ...second.failures] };
}

function longestAllowedMs(alone: Sample, atOnceMs: number): number {
  const mostMs = RATIO_MAX * percentile(alone.tookMs, 0.99);
  return process.env.TEST_FULL === 'true' ? mostMs : Math.max(mostMs, atOnceMs);
}

/** The get of a task that is submitted here. */
async function buildGet(baseUrl: string): Promise<Call> {
  return buildCall('getTask', secrets, {}, await submit(baseUrl));
}

/** Calls from a thread of its own; once it has begun to measure, `meanwhile` is called. */
async function runCaller(
  options: CallerOptions,
  meanwhile: () => Promise<unknown> = async () => undefined,
): Promise<Sample> {
  const worker = new Worker(new URL('./beside-caller.ts', import.meta.url), { workerData: options });
  await once(worker, 'message');
  const [[sample]] = await Promise.all([once(worker, 'message') as Promise<[Sample]>, meanwhile()]);
  await worker.terminate();
  return sample;
}
