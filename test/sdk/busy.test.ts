/**
 * An agent that is busy for a while (`isBusy`): it refuses pushes, claims nothing, and goes on afterwards.
 */
import { expect, test } from 'vitest';
import { assigned, clock, create, gateway, offer, startPulling } from './agent-fixture.ts';
import { pass } from './sdk-clock.ts';

test('claims nothing while it is busy, and then claims again', async () => {
  let isBusy = true;
  await startPulling({ isBusy: () => isBusy });
  await offer('t1');
  await pass(clock, 5_000, 500);
  expect(gateway.bodies('claim')).toEqual([]);
  isBusy = false;
  await pass(clock, 1_000, 500);
  expect([...gateway.outcomes.keys()]).toEqual(['t1']);
});

test('replies to a push with 503 while it is busy, and takes the next one', async () => {
  let isBusy = true;
  const agent = create({ endpoint: 'http://agent.test/', isBusy: () => isBusy });
  await agent.start();
  const push = async (): Promise<Response> =>
    agent.fetch(new Request('http://agent.test/', { method: 'POST', body: JSON.stringify(assigned('t1')) }));
  const refused = await push();
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, expect.any(String)]);
  isBusy = false;
  expect((await push()).status).toBe(202);
});

test('is not busy if the callback throws', async () => {
  const agent = create({
    endpoint: 'http://agent.test/',
    isBusy: () => {
      throw new Error('of the callback');
    },
  });
  await agent.start();
  const body = JSON.stringify(assigned('t1'));
  expect((await agent.fetch(new Request('http://agent.test/', { method: 'POST', body }))).status).toBe(202);
});
