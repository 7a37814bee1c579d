/** What the simulator promises in figures. */
import { spawnSync } from 'node:child_process';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { createClient } from '../../sdk/index.ts';
import { createSimulator } from '../../server/simulator/index.ts';
import { printFigure } from '../harness/figures.ts';

/** It takes one or two for a second: never one for each millisecond. */
const TURNS_MAX = 10_000;
const WORLDS_BYTES = 150_000_000;

/** How often the event loop of this thread has gone round. */
const countTurns = (): number => performance.nodeTiming.uvMetricsInfo.loopCount;

test(`A task’s timeout of ten minutes passes in less than ${TURNS_MAX} turns of the event loop.`, async () => {
  const world = createSimulator();
  const client = createClient({ ...world.options });
  await world.agents.add({ tags: ['pdf'], does: 'go_silent' });
  const { request_id } = await client.submitTask({ task_type: 't', task_tags: ['pdf'], payload: {} });
  const before = countTurns();
  await world.clock.advance(600);
  const turns = countTurns() - before;
  expect(await client.getTask(request_id)).toMatchObject({ status: 'failed' });
  printFigure('a timeout of ten minutes in a world', turns, 'turns');
  expect(turns).toBeGreaterThan(0);
  expect(turns).toBeLessThan(TURNS_MAX);
});

test('1,000 worlds keep less than 150 MB with a task in each.', () => {
  const script = fileURLToPath(new URL('thousand-worlds.ts', import.meta.url));
  const args = ['--conditions=task-gateway-source', '--expose-gc', script];
  const run = spawnSync(process.execPath, args, { encoding: 'utf8' });
  expect(run.stderr).toBe('');
  const { created, bytes } = JSON.parse(run.stdout);
  printFigure('1,000 worlds: memory', Math.round(bytes / 1_048_576), 'MiB');
  expect(created).toBe(1_000);
  expect(bytes).toBeLessThan(WORLDS_BYTES);
});
