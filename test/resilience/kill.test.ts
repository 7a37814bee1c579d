/**
 * SIGKILL at any instant, again and again, under load: no acknowledged call is lost, and every task ends
 * once.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { post, replay } from '../e2e/plain-calls.ts';
import { printTally } from '../harness/figures.ts';
import { startGateway } from '../harness/gateway-process.ts';
import { createAnswerHistory } from './answer-history.ts';
import { awaitEnded, createLoad, SESSION } from './load.ts';

/** How often the process is killed; `KILL_CYCLES` asks for more. */
const CYCLES = Number(process.env.KILL_CYCLES ?? 25);
/** After how many responses a process is killed, at most. */
const ANSWERS_MAX = 100;

test(`${CYCLES} kills under load break no promise`, { timeout: 240_000 + CYCLES * 15_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'task-gateway-kill-'));
  const env = { STORE: `sqlite:${folder}/gateway.db` };
  let gateway = await startGateway(env);
  const { baseUrl } = gateway;
  const again = { ...env, PORT: new URL(baseUrl).port };
  const history = createAnswerHistory();
  let answered = 0;
  const load = await createLoad(baseUrl, history, {
    async post(...call) {
      const answer = await post(...call);
      answered += 1;
      return answer;
    },
  });
  try {
    for (let cycle = 0; cycle < CYCLES; cycle += 1) {
      load.go();
      // The moment of the kill is random.
      const enough = answered + Math.floor(Math.random() * ANSWERS_MAX);
      const isEnough = () => expect(answered).toBeGreaterThanOrEqual(enough);
      await vi.waitFor(isEnough, { timeout: 60_000, interval: 1 });
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
