/** What pushes under way hold of large tasks: the memory of the gateway does not grow with their number. */
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { printFigure } from '../../harness/figures.ts';
import { useFolder } from '../../harness/folder.ts';
import { type GatewayProcess, startGateway } from '../../harness/gateway-process.ts';
import { readRssKiB } from '../process-cost.ts';
import { createCaller } from '../submitting.ts';
import { SCALE } from './beside.ts';
import {
  measurePushesBeside,
  register,
  startSilentHost,
  startStalledHost,
  submitFor,
} from './push-parties.ts';

const LARGE_TASKS = Math.min(150, Math.round(50 * SCALE));
const LARGE = { count: LARGE_TASKS, textLength: 1_000_000 };
/** The budgets of bytes, and what the collector has not got round to. */
const GROWTH_MIB_MAX = 250;
/** All of the tasks together are larger. */
const HEAP_MIB = Math.round(3.4 * LARGE_TASKS);
const TIMEOUT = { timeout: 300_000 };

async function start(env: Readonly<Record<string, string>> = {}): Promise<GatewayProcess> {
  const gateway = await startGateway(env);
  onTestFinished(async () => void (await gateway.stop()));
  return gateway;
}

describe('the memory of pushes under way', TIMEOUT, () => {
  test(`does not grow with ${LARGE_TASKS} tasks of 1 MB that are not read, nor with those that are read and not responded to`, async () => {
    const gateway = await start();
    const caller = createCaller(gateway.baseUrl);
    const stalled = await startStalledHost('http');
    const silent = await startSilentHost();
    onTestFinished(async () => void (await Promise.all([caller.close(), stalled.close(), silent.close()])));
    await submitFor(caller, 'stalled', LARGE);
    await submitFor(caller, 'silent', LARGE);
    const beforeKiB = readRssKiB(gateway.pid);
    await register(caller, 'stalled', stalled.url);
    await register(caller, 'silent', silent.url);
    await vi.waitFor(() => expect(silent.open()).toBe(LARGE_TASKS), { timeout: 300_000, interval: 50 });
    const grownMiB = (readRssKiB(gateway.pid) - beforeKiB) / 1_024;
    printFigure('rss-of-large-pushes', grownMiB, 'MiB');
    // All of them together have 400 MB and more.
    expect(grownMiB).toBeLessThan(GROWTH_MIB_MAX);
  });

  test(`is bounded after a restart at which ${LARGE_TASKS} tasks of 1 MB are due for an agent that does not read`, async () => {
    const store = { STORE: `sqlite:${useFolder()}/tasks.sqlite` };
    const stalled = await startStalledHost('http');
    onTestFinished(async () => void (await stalled.close()));
    const first = await startGateway(store);
    const caller = createCaller(first.baseUrl);
    await submitFor(caller, 'stalled', LARGE);
    await register(caller, 'stalled', stalled.url);
    await caller.close();
    await first.kill();
    const second = await start({ ...store, NODE_OPTIONS: `--max-old-space-size=${HEAP_MIB}` });
    const measured = await measurePushesBeside({
      name: 'after-restart',
      baseUrl: second.baseUrl,
      takeAll: async () => async () => {},
    });
    expect([...measured.alone.failures, ...measured.beside.failures]).toEqual([]);
    printFigure('rss-after-restart', readRssKiB(second.pid) / 1_024, 'MiB');
  });
});
