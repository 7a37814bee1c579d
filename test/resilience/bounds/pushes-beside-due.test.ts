/**
 * Party A has thousands of tasks that are all due at the same moment. The tasks of party B are pushed as
 * before: what is new does not wait behind what has been due longer.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { get } from '../../e2e/plain-calls.ts';
import { type GatewayProcess, startGateway } from '../../harness/gateway-process.ts';
import type { Caller } from '../submitting.ts';
import { expectUnaffected, SCALE } from './beside.ts';
import { measurePushesBeside } from './push-parties.ts';

const COUNT = Math.min(90_000, 10_000 * SCALE);
const AT_ONCE = 32;
/** So many show how long a submission takes; twice that is allowed for all others. */
const FIRST = 500;
const TIMEOUT = { timeout: 240_000 * SCALE };

let gateway: GatewayProcess;
let folder: string;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'task-gateway-due-'));
  gateway = await startGateway({ STORE: `sqlite:${folder}/gateway.db` });
});
afterEach(async () => {
  await gateway.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Submits tasks that no agent takes and that all fail at one moment; resolves then. */
async function submitUntilMoment(caller: Caller): Promise<readonly string[]> {
  const startMs = performance.now();
  await caller.submitMany(FIRST, { task_tags: ['nobody'], timeout: 3_600, queue_timeout: 3_600 });
  const eachMs = (performance.now() - startMs) / FIRST;
  const endMs = performance.now() + 2_000 + 2 * COUNT * eachMs;
  const ids: string[] = [];
  const submit = async (): Promise<void> => {
    while (ids.length < COUNT - AT_ONCE) {
      const queue_timeout = (endMs - performance.now()) / 1_000;
      ids.push(...(await caller.submitMany(1, { task_tags: ['nobody'], timeout: 3_600, queue_timeout })));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, submit));
  expect(performance.now(), 'all are submitted before the moment').toBeLessThan(endMs);
  await new Promise((resolve) => setTimeout(resolve, endMs - performance.now() - 100));
  return ids;
}

test(`beside ${COUNT} tasks that are due at once, tasks are pushed as fast as alone`, TIMEOUT, async () => {
  let ids: readonly string[] = [];
  const measured = await measurePushesBeside({
    name: 'due-at-once',
    baseUrl: gateway.baseUrl,
    async takeAll(caller) {
      ids = await submitUntilMoment(caller);
      return async () => undefined;
    },
  });
  const { body } = await get(gateway.baseUrl, `/api/cli/tasks/${ids.at(-1)}?wait=30`);
  expect(body.status).toBe('failed');
  expectUnaffected(measured);
});
