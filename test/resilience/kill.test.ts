/**
 * SIGKILL at any instant, again and again, under load: no acknowledged call is lost, and every task ends
 * once.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { replay } from '../e2e/plain-calls.ts';
import { printTally } from '../harness/figures.ts';
import { startGateway } from '../harness/gateway-process.ts';
import { createAnswerHistory } from './answer-history.ts';
import { awaitEnded, createLoad, SESSION } from './load.ts';

/** How often the process is killed; `KILL_CYCLES` asks for more. */
const CYCLES = Number(process.env.KILL_CYCLES ?? 25);
/** How long a process runs under load before it is killed, at most; its first calls take longer. */
const RUN_MAX_MS = 1_000;

test(`${CYCLES} kills under load break no promise`, { timeout: 240_000 + CYCLES * 15_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'task-gateway-kill-'));
  const env = { STORE: `sqlite:${folder}/gateway.db` };
  let gateway = await startGateway(env);
  const { baseUrl } = gateway;
  const again = { ...env, PORT: new URL(baseUrl).port };
  const history = createAnswerHistory();
  const load = await createLoad(baseUrl, history);
  try {
    for (let cycle = 0; cycle < CYCLES; cycle += 1) {
      load.go();
      // The moment of the kill is random.
      await new Promise((resolve) => setTimeout(resolve, Math.random() * RUN_MAX_MS));
      await gateway.kill();
      await load.pause();
      gateway = await startGateway(again);
      expect(await history.findBroken(baseUrl, { onlyNew: true }), `after kill ${cycle + 1}`).toEqual([]);
    }
    load.finish();
    await awaitEnded(baseUrl);
    await load.pause();
    expect(await history.findBroken(baseUrl)).toEqual([]);
    const ended = (await replay(baseUrl, SESSION)).map(({ data }) => data.request_id);
    expect(new Set(ended).size).toBe(ended.length);
    expect(history.ids.filter((id) => !ended.includes(id))).toEqual([]);
    const counts = history.count();
    for (const [what, count] of Object.entries(counts)) printTally(`kill:${what}`, count, 'answers');
    printTally('kill:kills', CYCLES, 'kills');
    expect(Math.min(...Object.values(counts))).toBeGreaterThan(0);
  } finally {
    await load.close();
    await gateway.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});
