/** Handlers that go on after their task is over: what the agent says of them, and when their slot is free. */
import { expect, test } from 'vitest';
import { agent, clock, createManualHandler, events, gateway, offer, startPulling } from './agent-fixture.ts';
import { elapse, pass } from './sdk-clock.ts';

/** The texts of the log events about handlers. */
const reports = (): readonly string[] =>
  events.flatMap((event) => (event.kind === 'failure' && event.during === 'handler' ? `${event.error}` : []));

/** Lets the gateway say that these tasks are cancelled, and waits for a heartbeat. */
async function cancel(...ids: readonly string[]): Promise<void> {
  gateway.cancelled.push(...ids);
  await pass(clock, 20_000);
  gateway.cancelled.splice(0);
}

test('A handler that ignores its signal is logged after ten seconds, once, and keeps its slot until it ends.', async () => {
  const { handler, started, get } = createManualHandler();
  await startPulling({ handler });
  await offer('t1');
  await cancel('t1');
  expect(get('t1').signal.aborted).toBe(true);
  await pass(clock, 60_000, 1_000);
  expect(reports()).toEqual([
    'TaskGatewayError: The handler of task t1 still runs 10 s after its signal fired. It occupies a slot (handlerEndMs limits that).',
  ]);
  await offer('t2');
  expect(started()).toEqual(['t1']);
  get('t1').end('late');
  await clock.advance(0);
  expect(started()).toEqual(['t1', 't2']);
  expect(gateway.outcomes.has('t1')).toBe(false);
});

test('A handler that ends in time is not logged.', async () => {
  const { handler, get } = createManualHandler();
  await startPulling({ handler, handlerEndMs: 3_000 });
  await offer('t1');
  const cancelling = cancel('t1');
  await clock.advance(0);
  get('t1').signal.addEventListener('abort', () => get('t1').fail('stopped'));
  await cancelling;
  await pass(clock, 60_000, 1_000);
  expect(reports()).toEqual([]);
});

test('With a limit its slot is free after that; the same task waits until the first handler has ended.', async () => {
  const { handler, started, get } = createManualHandler();
  await startPulling({ handler, handlerEndMs: 3_000 });
  await offer('t1');
  await cancel('t1');
  await offer('t2');
  expect(started()).toEqual(['t1', 't2']);
  expect(reports()).toEqual([
    'TaskGatewayError: The handler of task t1 still runs 3 s after its signal fired. Its slot is free from now on.',
  ]);
  get('t2').end('ok');
  await clock.advance(0);
  expect(gateway.outcomes.get('t2')).toMatchObject({ status: 'success' });
  const first = get('t1');
  await offer('t1');
  expect(get('t1')).toBe(first);
  first.end('late');
  await pass(clock, 1_000);
  await offer('t1');
  expect(get('t1')).not.toBe(first);
});

test('An agent that stops does not wait for the limit.', async () => {
  const { handler } = createManualHandler();
  await startPulling({ handler, handlerEndMs: 3_600_000 });
  await offer('t1');
  await cancel('t1');
  await elapse(clock, agent?.stop({ drainMs: 1_000, graceMs: 1_000 }) ?? Promise.resolve());
  expect(clock.sleeping()).toBe(0);
});
