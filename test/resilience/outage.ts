/**
 * An outage of the disk under the real gateway, from beginning to end: under load every call is answered in time with
 * the truth or a 503, `/readyz` says why, and once the disk is well again so is the gateway, without a restart. Then
 * it is killed and started again: whatever was acknowledged, before, in and after the outage, is there.
 */
import { expect, vi } from 'vitest';
import { printFigure, printTally } from '../harness/figures.ts';
import { type GatewayProcess, startGateway } from '../harness/gateway-process.ts';
import { createHistory } from './answer-history.ts';
import { createLoad } from './load.ts';
import { createWitness, type Witness } from './outage-checker.ts';

/** How to make the disk of a running gateway fail, and how to mend it. */
export type Outage = {
  begin(gateway: GatewayProcess): Promise<void> | void;
  end(gateway: GatewayProcess): Promise<void> | void;
};

/** Back to normal within 2 s; the file is opened anew at least once a second. The rest is slack for the machine. */
const BACK_WITHIN_MS = 2_000 + 3_000;
/** Calls before the outage, and how many must have been refused in it. */
const BEFORE = 100;
const REFUSED = 100;
const REPORT_FAILING_MS = 40_000;

/** Lives through it `times` times; the reason that `/readyz` gives must match. */
export async function endure(
  file: string,
  name: string,
  outage: Outage,
  reason: RegExp,
  times = 1,
): Promise<void> {
  let gateway = await startGateway({ STORE: `sqlite:${file}` });
  const { baseUrl } = gateway;
  const history = createHistory();
  const witness = createWitness();
  const load = await createLoad(baseUrl, history, witness);
  const figures: number[] = [];
  try {
    load.go();
    for (let time = 0; time < times; time += 1) {
      await untilCalls(witness, (count) => count.answered >= BEFORE);
      await outage.begin(gateway);
      await suffer(baseUrl, witness, reason);
      expect(await history.check(baseUrl, { unavailable: true })).toEqual([]);
      await outage.end(gateway);
      figures.push(await untilBack(baseUrl));
      witness.reset();
      await untilCalls(witness, (count) => count.answered >= BEFORE);
    }
    await load.pause();
    expect(witness.broken).toEqual([]);
    expect(await history.check(baseUrl)).toEqual([]);
    await gateway.kill();
    gateway = await startGateway({ STORE: `sqlite:${file}`, PORT: new URL(baseUrl).port });
    expect(await history.check(baseUrl)).toEqual([]);
    const counts = history.count();
    expect(Math.min(...Object.values(counts))).toBeGreaterThan(0);
    printFigure(`${name}:back-after`, Math.round(Math.max(...figures)), 'ms');
    printTally(`${name}:acknowledged`, counts.submitted, 'tasks');
  } finally {
    await load.close();
    await gateway.stop();
  }
}

async function untilCalls(
  { count }: Witness,
  enough: (count: ReturnType<Witness['count']>) => boolean,
): Promise<void> {
  await vi.waitFor(() => expect(enough(count()), JSON.stringify(count())).toBe(true), {
    timeout: REPORT_FAILING_MS,
    interval: 20,
  });
}

/** Stays in the outage until enough was refused and `/readyz` has said why. */
async function suffer(url: string, witness: Witness, reason: RegExp): Promise<void> {
  witness.reset();
  await untilCalls(witness, (count) => count.unavailable >= REFUSED);
  await vi.waitFor(
    async () => {
      const answer = await fetch(`${url}/readyz`);
      expect(answer.status).toBe(503);
      expect(answer.headers.get('Retry-After')).toMatch(/^\d+$/);
      expect(((await answer.json()) as { reason: string }).reason).toMatch(reason);
    },
    { timeout: REPORT_FAILING_MS, interval: 20 },
  );
  expect((await fetch(`${url}/livez`)).status).toBe(200);
}

/** Milliseconds until it is ready again. */
async function untilBack(url: string): Promise<number> {
  const startMs = performance.now();
  await vi.waitFor(async () => expect((await fetch(`${url}/readyz`)).status).toBe(200), {
    timeout: REPORT_FAILING_MS,
    interval: 20,
  });
  const tookMs = performance.now() - startMs;
  expect(tookMs).toBeLessThan(BACK_WITHIN_MS);
  return tookMs;
}
