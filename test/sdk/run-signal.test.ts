/** `runTask` and its signal: what it throws, and what becomes of the task. */
import { describe, expect, test } from 'vitest';
import type * as sdk from '../../sdk/index.ts';
import { createGateway, submission } from './run-gateway.ts';
import { json } from './scripted-fetch.ts';
import { problem } from './scripted-server.ts';
import { elapse } from './sdk-clock.ts';

/** Runs until the gateway has the task. Returns it, what aborts the run, and the error of the run. */
async function startRun(options: sdk.RunOptions = {}) {
  const gateway = createGateway();
  const controller = new AbortController();
  const error = gateway.client
    .runTask(submission, { signal: controller.signal, ...options })
    .catch((thrown: unknown) => thrown as sdk.AbortError);
  await gateway.clock.advance(0);
  return { gateway, controller, error: error as Promise<sdk.AbortError> };
}

describe('when its signal fires, runTask', () => {
  test('throws, naming the task, and does not cancel it', async () => {
    const { gateway, controller, error } = await startRun();
    controller.abort('enough');
    expect(await error).toMatchObject({ name: 'AbortError', cause: 'enough', request_id: 'task-1' });
    expect(gateway.cancels()).toBe(0);
    expect(gateway.clock.sleeping()).toBe(0);
  });

  test('cancels the task with `cancelOnAbort`', async () => {
    const { gateway, controller, error } = await startRun({ cancelOnAbort: true });
    controller.abort();
    expect(await error).toMatchObject({ name: 'AbortError' });
    expect(gateway.cancels()).toBe(1);
  });

  test('cancels a task whose submission is in progress', async () => {
    const gateway = createGateway();
    const controller = new AbortController();
    gateway.state.onSubmit = () => controller.abort();
    const run = gateway.client.runTask(submission, { signal: controller.signal, cancelOnAbort: true });
    const error = await run.catch((one: unknown) => one);
    expect(error).toMatchObject({ name: 'AbortError', idempotencyKey: expect.any(String) });
    expect(await (error as sdk.AbortError).cancelled).toBe(true);
    expect(error).toMatchObject({ request_id: 'task-1' });
    expect(gateway.cancels()).toBe(1);
  });

  test('says that the gateway has not confirmed the cancellation, after ten seconds at the latest', async () => {
    const { gateway, controller, error } = await startRun({ cancelOnAbort: true, maxRetries: 100 });
    gateway.state.outage = json(problem(503, 'busy'), 503);
    controller.abort();
    const { cancelled } = await error;
    expect(gateway.clock.nowMs()).toBe(0);
    expect(await elapse(gateway.clock, cancelled ?? Promise.resolve(true))).toBe(false);
    expect(gateway.clock.nowMs()).toBeLessThanOrEqual(10_100);
    expect(gateway.clock.sleeping()).toBe(0);
  });

  test('submits nothing if the signal had fired already', async () => {
    const gateway = createGateway();
    await expect(gateway.client.runTask(submission, { signal: AbortSignal.abort() })).rejects.toMatchObject({
      name: 'AbortError',
    });
    expect(gateway.fetch.sent).toHaveLength(0);
  });
});
