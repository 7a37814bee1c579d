/** SIGTERM under load, again and again: the gateway ends in time, and nothing that was accepted is lost. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { printTally } from '../harness/figures.ts';
import { startGateway } from '../harness/gateway-process.ts';
import { expectWithin } from '../harness/slack.ts';
import { createAnswerHistory } from './answer-history.ts';
import { createLoad } from './load.ts';
import { createOutageChecker } from './outage-checker.ts';

/** How often it is stopped; `TERM_CYCLES` asks for more. */
const CYCLES = Number(process.env.TERM_CYCLES ?? 3);
const ENDS_WITHIN_MS = 5_000;
/** Calls answered before each stop. */
const ANSWERED = 80;

test(`${CYCLES} times SIGTERM under load drops nothing and takes no longer than five seconds`, {
  timeout: 240_000 + CYCLES * 30_000,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'task-gateway-term-'));
  const file = join(folder, 'gateway.db');
  let gateway = await startGateway({ STORE: `sqlite:${file}` });
  const { baseUrl } = gateway;
  const again = { STORE: `sqlite:${file}`, PORT: new URL(baseUrl).port };
  const history = createAnswerHistory();
  const checker = createOutageChecker();
  const load = await createLoad(baseUrl, history, checker);
  let longestMs = 0;
  try {
    for (let cycle = 0; cycle < CYCLES; cycle += 1) {
      checker.reset();
      load.go();
      await vi.waitFor(() => expect(checker.count().answered).toBeGreaterThan(ANSWERED), { timeout: 60_000 });
      const startMs = performance.now();
      expect(await gateway.stop()).toBe(0);
      longestMs = Math.max(longestMs, performance.now() - startMs);
      await load.pause();
      // An orderly stop moves all of the log into the database and removes it.
      expect(existsSync(`${file}-wal`), `after stop ${cycle + 1}`).toBe(false);
      gateway = await startGateway(again);
      expect(await history.findBroken(baseUrl), `after stop ${cycle + 1}`).toEqual([]);
    }
    expect(checker.broken).toEqual([]);
    expectWithin('terminate:longest', longestMs, ENDS_WITHIN_MS);
    const counts = history.count();
    expect(Math.min(...Object.values(counts))).toBeGreaterThan(0);
    printTally('terminate:acknowledged', counts.submitted, 'tasks');
  } finally {
    await load.close();
    await gateway.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});
