/** What the simulator promises in figures. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { createClient } from '../../sdk/index.ts';
import { createSimulator } from '../../server/simulator/index.ts';
import { printFigure } from '../harness/figures.ts';

const TIMEOUT_MS = 50;
const WORLDS_MS = 1_000;
const WORLDS_BYTES = 150_000_000;
/** What other work of the machine may make of a time. */
const SLACK = process.env.SLACK === 'none' ? 1 : 4;

test('A task’s timeout of ten minutes passes in less than 50 ms.', async () => {
  const world = createSimulator();
  const client = createClient({ ...world.options });
  await world.agents.add({ tags: ['pdf'], does: 'go_silent' });
  const times: number[] = [];
  for (let n = 0; n < 5; n += 1) {
    const { request_id } = await client.submitTask({ task_type: 't', task_tags: ['pdf'], payload: {} });
    const startMs = performance.now();
    await world.clock.advance(600);
    times.push(performance.now() - startMs);
    expect(await client.getTask(request_id)).toMatchObject({ status: 'failed' });
    await world.agents.add({ tags: ['pdf'], does: 'go_silent' });
  }
  const tookMs = Math.min(...times);
  printFigure('a timeout of ten minutes in a world', Math.round(tookMs), 'ms');
  expect(tookMs).toBeLessThan(TIMEOUT_MS * SLACK);
});

test('1,000 worlds are created in less than a second, and keep less than 150 MB with a task in each.', () => {
  const script = fileURLToPath(new URL('thousand-worlds.ts', import.meta.url));
  const args = ['--conditions=task-gateway-source', '--expose-gc', script];
  const run = spawnSync(process.execPath, args, { encoding: 'utf8' });
  expect(run.stderr).toBe('');
  const { created, createdMs, usedMs, bytes } = JSON.parse(run.stdout);
  printFigure('1,000 worlds: creating them', Math.round(createdMs), 'ms');
  printFigure('1,000 worlds: a task in each', Math.round(usedMs), 'ms');
  printFigure('1,000 worlds: memory', Math.round(bytes / 1_048_576), 'MiB');
  expect(created).toBe(1_000);
  expect(createdMs).toBeLessThan(WORLDS_MS);
  expect(bytes).toBeLessThan(WORLDS_BYTES);
});
