/**
 * The real process under 100,000 hostile inputs (`FUZZ_RUNS` changes it) over real sockets: no status of 500
 * or more, no crash, no error in its log, no descriptor and no memory left behind. Where this machine's disk
 * stands still for seconds, what comes meanwhile may be refused with 503 as it is promised.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { printFigure, printTally } from '../harness/figures.ts';
import { useFolder } from '../harness/folder.ts';
import { ADMIN_SECRET, SECRET, startGateway } from '../harness/gateway-process.ts';
import { INSPECTED, measureHeapOf } from '../harness/heap.ts';
import { flood } from './flood.ts';
import { createInputs, createRandom, type Input } from './hostile-inputs.ts';

const INPUTS = Number(process.env.FUZZ_RUNS ?? 100_000);
const SEED = Number(process.env.FUZZ_SEED ?? Date.now() % 1_000_000_007);
/** Memory is measured after each; the first ones warm the process up. */
const ROUNDS = 10;
/** What the accepted tasks may take: 160 bytes for each input of the later half. */
const MEMORY_MARGIN_MB = 8;
/** Of a hundred inputs: more is not a disk that stood still for once. */
const UNAVAILABLE_MAX = INPUTS / 100;
/** What the log says of a disk that does not respond. */
const OUTAGE = /the store is (?:out|not available)/;
const SECRETS = { gateway: SECRET, admin: ADMIN_SECRET };

test('no input gets a status of 500, ends the process or leaves anything behind', {
  timeout: 240_000 + INPUTS * 2,
}, async () => {
  console.log(`fuzz: FUZZ_SEED=${SEED} FUZZ_RUNS=${INPUTS}`);
  const gateway = await startGateway({
    STORE: `sqlite:${join(useFolder(), 'gateway.db')}`,
    // Whatever the inputs register as an endpoint, pushes go to this machine alone.
    PUSH_ALLOW: '127.0.0.1',
    ...INSPECTED,
  });
  try {
    const port = Number(new URL(gateway.baseUrl).port);
    const next = createInputs(createRandom(SEED), SECRETS);
    const kinds = new Map<string, number>();
    const counted = (): Input => {
      const input = next();
      kinds.set(input.kind, (kinds.get(input.kind) ?? 0) + 1);
      return input;
    };
    const statuses = new Map<number, number>();
    const memoryMb: number[] = [];
    let unanswered = 0;
    let unavailable = 0;
    const openAtFirst = countDescriptors(gateway.pid);
    for (let round = 0; round < ROUNDS; round += 1) {
      const flooded = await flood(port, counted, Math.ceil(INPUTS / ROUNDS));
      expect(flooded.faults.join('\n')).toBe('');
      unanswered += flooded.unanswered;
      unavailable += flooded.unavailable;
      for (const [status, count] of flooded.statuses)
        statuses.set(status, (statuses.get(status) ?? 0) + count);
      memoryMb.push((await measureHeapOf(gateway)) / 2 ** 20);
    }
    await expect.poll(() => countDescriptors(gateway.pid), { timeout: 60_000 }).toBeLessThan(openAtFirst + 8);
    // The inputs reach what is behind the checks, and are refused in every way.
    for (const status of [200, 400, 401, 404, 405, 415, 422, 431])
      expect(statuses.get(status) ?? 0, `answers of ${status}`).toBeGreaterThan(0);
    const grownMb = Number(memoryMb.at(-1)) - Number(memoryMb[ROUNDS / 2 - 1]);
    const kept = memoryMb.map((mb) => mb.toFixed(1)).join(', ');
    expect(grownMb, `kept after each round: ${kept} MB`).toBeLessThan(MEMORY_MARGIN_MB);
    expect((await fetch(`${gateway.baseUrl}/readyz`)).status).toBe(200);
    expect(await gateway.stop()).toBe(0);
    const errors = gateway
      .output()
      .split('\n')
      .filter((line) => line.includes('"level":"error"'));
    expect(unavailable > 0 ? errors.filter((line) => !OUTAGE.test(line)) : errors).toEqual([]);
    expect(unavailable, 'inputs refused because the store stood still').toBeLessThanOrEqual(UNAVAILABLE_MAX);
    const counts = [...statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${status}: ${count}`);
    console.log(`fuzz: ${[...kinds].map(([kind, count]) => `${kind} ${count}`).join(', ')}`);
    console.log(`fuzz: ${counts.join(', ')}, closed upon ${unanswered}; kept ${kept} MB`);
    printTally('fuzz-inputs', INPUTS, 'inputs');
    printTally('fuzz-answers-5xx', unavailable, 'inputs');
    printFigure('fuzz-memory-growth', grownMb, 'MB');
  } finally {
    await gateway.kill();
  }
});

function countDescriptors(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}
