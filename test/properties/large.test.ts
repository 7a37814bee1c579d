/**
 * Timeouts too large for a timer, on the real process: none ends early, and waiting for them costs no CPU
 * time.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test, vi } from 'vitest';
import { get, submit } from '../e2e/plain-calls.ts';
import { printFigure } from '../harness/figures.ts';
import { type GatewayProcess, startGateway } from '../harness/gateway-process.ts';
import { startBeating } from './beating-agents.ts';

/** For what happens soon, with slack for a machine that has other work. */
const WAIT = { timeout: 60_000, interval: 20 };
/** Seconds: the largest number, what 32 bits of milliseconds hold and one more, a week and more. */
const TIMEOUTS = [
  1e308,
  Number.MAX_VALUE,
  2_147_483.647,
  2_147_483.648,
  4_294_967.296,
  604_800,
  604_801,
  1e9,
];
const WATCH_MS = 3_000;
/** Share of one core. Polling four times a second takes about a hundredth. */
const CPU_SHARE_MAX = 0.25;

const readTicks = (pid: number): number => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return Number(fields[11]) + Number(fields[12]);
};

async function readCpuShare({ pid }: GatewayProcess): Promise<number> {
  const ticksPerSecond = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));
  const [ticks, startMs] = [readTicks(pid), performance.now()];
  // The CPU time of a real interval can be measured only by waiting for it.
  await new Promise((resolve) => setTimeout(resolve, WATCH_MS));
  return (readTicks(pid) - ticks) / ticksPerSecond / ((performance.now() - startMs) / 1_000);
}

test('timeouts of any size wait without ending early and without a busy loop', {
  timeout: 300_000,
}, async () => {
  const gateway = await startGateway();
  const { baseUrl } = gateway;
  const stop = await startBeating(baseUrl, 'agent');
  try {
    const ids: string[] = [];
    for (const timeout of TIMEOUTS) {
      ids.push(await submit(baseUrl, { timeout }));
      ids.push(await submit(baseUrl, { timeout, queue_timeout: timeout, task_tags: ['unserved'] }));
    }
    const look = async () => {
      for (const [index, id] of ids.entries()) {
        const { body } = await get(baseUrl, `/api/cli/tasks/${id}`);
        expect(body.timeout).toBe(TIMEOUTS[Math.floor(index / 2)]);
        expect(body.status).toBe(index % 2 === 0 ? 'running' : 'pending');
      }
    };
    await vi.waitFor(look, WAIT);
    const share = await readCpuShare(gateway);
    await look();
    printFigure('large-timeouts:cpu', share * 100, '%');
    expect(share).toBeLessThan(CPU_SHARE_MAX);
  } finally {
    stop();
    await gateway.stop();
  }
});
