/**
 * Outages of the store under the real gateway: what it logs of one; and one of the disk from beginning to
 * end. Under load every call returns in time with the truth or a 503, `/readyz` gives the reason, and once
 * the disk works again so does the gateway, without a restart. Then it is killed and started again: what was
 * acknowledged before, during and after the outage is there.
 */
import { expect, vi } from 'vitest';
import { printFigure, printTally } from '../harness/figures.ts';
import { ADMIN_SECRET, type GatewayProcess, startGateway } from '../harness/gateway-process.ts';
import { expectWithin } from '../harness/slack.ts';
import { createAnswerHistory } from './answer-history.ts';
import { createLoad } from './load.ts';
import { createOutageChecker, type OutageChecker } from './outage-checker.ts';

/** How to make the disk of a running gateway fail, and how to repair it. */
export type Outage = {
  begin(gateway: GatewayProcess): Promise<void> | void;
  end(gateway: GatewayProcess): Promise<void> | void;
};

/** Back to normal within 2 s; the file is opened again at least once a second. */
const BACK_WITHIN_MS = 2_000;
/** Responses before the outage, and 503s during it. */
const BEFORE = 50;
const REFUSED = 50;
const WAIT_MS = 40_000;

/** How long an outage lasts whose log is read, with a try each second; `OUTAGE_SECONDS` asks for another. */
export const OUTAGE_SECONDS = Number(process.env.OUTAGE_SECONDS ?? 8);
const PAGES = ['/readyz', '/api/admin/overview', '/metrics'];

/**
 * Goes through an outage under load, in which people look at the pages for operators; resolves with the
 * lines that the gateway logged of it, as values: all until its end begins, and then those of no task. A task
 * may fail when it is over; its line is not of it.
 */
export async function readLogOfOutage(
  gateway: GatewayProcess,
  { begin, end }: Outage,
): Promise<readonly unknown[]> {
  const { baseUrl } = gateway;
  const checker = createOutageChecker();
  const load = await createLoad(baseUrl, createAnswerHistory(), checker);
  try {
    load.go();
    await awaitCalls(checker, (count) => count.answered >= BEFORE);
    const linesBefore = readWholeLines(gateway).length;
    await begin(gateway);
    const endMs = performance.now() + 1_000 * OUTAGE_SECONDS;
    while (performance.now() < endMs) {
      for (const page of PAGES)
        await (await fetch(`${baseUrl}${page}`, { headers: { 'X-Admin-Auth': ADMIN_SECRET } })).text();
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    const linesDuring = readWholeLines(gateway).length;
    await end(gateway);
    await awaitReady(baseUrl);
    await load.pause();
    const lines = readWholeLines(gateway).map((line) => JSON.parse(line) as object);
    return lines.filter((line, n) => n >= linesBefore && (n < linesDuring || !('request_id' in line)));
  } finally {
    await load.close();
  }
}

/** What it has logged so far, without a line whose end has not come yet. */
function readWholeLines(gateway: GatewayProcess): readonly string[] {
  return gateway.output().split('\n').slice(0, -1);
}

/** Goes through each outage `times` times in one life; the reason that `/readyz` gives must match. */
export async function expectSurvival(
  file: string,
  name: string,
  outages: readonly Outage[],
  reason: RegExp,
  times = 1,
): Promise<void> {
  let gateway = await startGateway({ STORE: `sqlite:${file}` });
  const { baseUrl } = gateway;
  const history = createAnswerHistory();
  const checker = createOutageChecker();
  const load = await createLoad(baseUrl, history, checker);
  const figures: number[] = [];
  try {
    load.go();
    for (const outage of Array.from({ length: times }, () => outages).flat()) {
      await awaitCalls(checker, (count) => count.answered >= BEFORE);
      await outage.begin(gateway);
      await awaitRefusals(baseUrl, checker, reason);
      expect(await history.findBroken(baseUrl, { unavailable: true })).toEqual([]);
      await outage.end(gateway);
      figures.push(await awaitReady(baseUrl));
      checker.reset();
      await awaitCalls(checker, (count) => count.answered >= BEFORE);
    }
    await load.pause();
    expect(checker.broken).toEqual([]);
    expect(await history.findBroken(baseUrl)).toEqual([]);
    await gateway.kill();
    gateway = await startGateway({ STORE: `sqlite:${file}`, PORT: new URL(baseUrl).port });
    expect(await history.findBroken(baseUrl)).toEqual([]);
    const counts = history.count();
    expect(Math.min(...Object.values(counts))).toBeGreaterThan(0);
    printFigure(`${name}:back-after`, Math.round(Math.max(...figures)), 'ms');
    printTally(`${name}:acknowledged`, counts.submitted, 'tasks');
  } finally {
    await load.close();
    await gateway.stop();
  }
}

async function awaitCalls(
  { count }: OutageChecker,
  enough: (count: ReturnType<OutageChecker['count']>) => boolean,
): Promise<void> {
  await vi.waitFor(() => expect(enough(count()), JSON.stringify(count())).toBe(true), {
    timeout: WAIT_MS,
    interval: 20,
  });
}

/** Stays in the outage until there were enough 503s and `/readyz` has given the reason. */
async function awaitRefusals(url: string, checker: OutageChecker, reason: RegExp): Promise<void> {
  checker.reset();
  await awaitCalls(checker, (count) => count.unavailable >= REFUSED);
  await vi.waitFor(
    async () => {
      const answer = await fetch(`${url}/readyz`);
      expect(answer.status).toBe(503);
      expect(answer.headers.get('Retry-After')).toMatch(/^\d+$/);
      expect(((await answer.json()) as { reason: string }).reason).toMatch(reason);
    },
    { timeout: WAIT_MS, interval: 20 },
  );
  expect((await fetch(`${url}/livez`)).status).toBe(200);
}

/** Milliseconds until it is ready again. */
async function awaitReady(url: string): Promise<number> {
  const startMs = performance.now();
  await vi.waitFor(async () => expect((await fetch(`${url}/readyz`)).status).toBe(200), {
    timeout: WAIT_MS,
    interval: 20,
  });
  const tookMs = performance.now() - startMs;
  expectWithin('disk:ready-after', tookMs, BACK_WITHIN_MS);
  return tookMs;
}
