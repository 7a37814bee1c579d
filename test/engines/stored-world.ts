/**
 * A world in which tasks and agents stand in every way that is stored, what a gateway says of them, and how
 * all of them end. The files in `stored/` hold such a world, as a gateway of their format wrote it.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect } from 'vitest';
import type { Gateway } from '../../server/ports/gateway.ts';
import { BROKEN, BUSY, GONE, REFUSED } from '../harness/fake-pusher.ts';
import { listAgents } from '../harness/listings.ts';
import { readPage, write } from '../harness/outputs.ts';
import { buildRegistration, NEVER, type World } from '../harness/world.ts';
import { registerAnswering, submitLong as submit } from '../harness/world-calls.ts';

/** When the world is filled, and the next gateway may open it. */
export const FILLED_MS = 200_000;
export const STORED_FOLDER = join(import.meta.dirname, 'stored');
const DAY_MS = 24 * 3_600_000;
/** Long enough to stand apart from its row. */
const LONG = '长'.repeat(2_000);
const SCHEMA = { type: 'object', properties: { approve: { type: 'boolean' } } } as const;
const QUESTION = { key: 'deploy', prompt: '部署吗？', schema: SCHEMA } as const;
const YES = { approve: true };
const RETENTION = { keepTasksMs: DAY_MS, sessionEventsMax: 100_000, outputBytesMax: 2 ** 28 };

const report = ({ gateway }: World, request_id: string, more: object, agent_id = 'A') =>
  gateway.reportResult({ request_id, agent_id, ...more } as Parameters<Gateway['reportResult']>[0]);

/** Fills an empty store by calls of clients and agents; it takes `FILLED_MS`. */
export async function fillWorld(world: World): Promise<void> {
  const { gateway, clock, store } = world;
  await registerAnswering(world, 'A', undefined, { max_concurrent: 50, lost_after: 3_600 });
  await endTasks(world);
  await world.pass(1_000);
  // What retention leaves of a session that had too many events.
  while ((await store.trim({ ...RETENTION, sessionEventsMax: 2 }, 500)) > 0);
  await openTasks(world);
  for (const agent_id of ['A', 'puller']) await gateway.heartbeatAgent({ agent_id });
  await world.pass(1_000);
  await clock.advance(FILLED_MS - clock.nowMs());
}

/** Tasks that ended in each way. */
async function endTasks(world: World): Promise<void> {
  const { gateway } = world;
  const trimmed = { cli_session_id: 'trimmed' };
  for (const _ of [1, 2, 3])
    await report(world, await submit(world, trimmed), { status: 'success', result: {} });
  const succeeded = await submit(world, { payload: { text: LONG } });
  await write(world, succeeded, ['一', LONG]);
  await report(world, succeeded, { status: 'running', progress: 40 });
  await report(world, succeeded, { status: 'success', result: { text: LONG } });
  await report(world, await submit(world), { status: 'failed', error_info: '坏' });
  await gateway.cancelTask(await submit(world, { cli_session_id: '会话/%\u0001' }));
  await submit(world, { task_tags: ['nowhere'] });
  const late = await submit(world, { timeout: 2 });
  await write(world, late, ['too late']);
  await world.pass(3_000);
  await gateway.submitTask({ ...submission(), cli_session_id: 'keys' }, 'key-of-an-ended-task');
  await world.runUntilIdle();
  const [keyed] = (await gateway.listTasks({ session: 'keys', limit: 1 })).tasks;
  await report(world, keyed?.request_id ?? '', { status: 'success', result: { n: 1 } });
}

const submission = () => ({
  task_type: 'type',
  task_tags: ['a'],
  payload: { n: 1 },
  timeout: 3_600,
  cli_session_id: 's',
});

/** Tasks that wait, run, ask and move, and agents that come and go. */
async function openTasks(world: World): Promise<void> {
  const { gateway } = world;
  await gateway.submitTask({ ...submission(), cli_session_id: 'keys' }, 'key-of-an-open-task');
  const asking = await submit(world, { task_tags: ['a', 'gpu'] });
  const pieces = [JSON.stringify({ question: QUESTION })];
  await write(world, asking, ['before', LONG]);
  await write(world, asking, [], { from: 2, pieces, questions: [{ ...QUESTION, at: 2 }] });
  const answered = await submit(world, { payload: { text: LONG } });
  await write(world, answered, [], { pieces, questions: [{ ...QUESTION, at: 0 }] });
  await gateway.answerTask({ request_id: answered, key: QUESTION.key, answer: YES });
  await report(world, answered, { status: 'running', progress: 10, result: { reply: '先' } });
  const rewritten = await submit(world);
  await write(world, rewritten, ['of an earlier run']);
  await write(world, rewritten, ['of this run'], { writer: 'second' });
  await gateway.registerAgent(
    buildRegistration('puller', { endpoint: 'pull', agent_tags: ['pull'], max_concurrent: 3 }),
  );
  for (const _ of [1, 2]) await submit(world, { task_tags: ['pull'] });
  await gateway.claimTask({ agent_id: 'puller', wait: 0 }, NEVER);
  for (const [agent_id, outcome] of Object.entries({ BUSY, REFUSED, BROKEN, GONE })) {
    await registerAnswering(world, agent_id, outcome, { agent_tags: [agent_id], max_concurrent: 2 });
    await submit(world, { task_tags: [agent_id] });
  }
  await submit(world, { task_tags: ['nobody', 'gpu'], queue_timeout: 3_000 });
  await gateway.registerAgent(buildRegistration('drained', { agent_tags: ['nobody'], max_concurrent: 0 }));
  await gateway.registerAgent(buildRegistration('left', { agent_tags: ['left'] }));
  await submit(world, { task_tags: ['left', 'left'] });
  await gateway.unregisterAgent('left');
}

/** What clients, agents and the administrator are readings. */
export async function describeWorld(world: World): Promise<Record<string, unknown>> {
  const { gateway, store } = world;
  const readings = new Map<string, unknown>();
  const { tasks } = await gateway.listTasks({ limit: 100 });
  readings.set('tasks', tasks);
  for (const { request_id } of tasks) {
    readings.set(`getTask ${request_id}`, await gateway.getTask(request_id, 0, NEVER));
    readings.set(`explainTask ${request_id}`, await gateway.explainTask(request_id));
    readings.set(`readOutput ${request_id}`, await readPage(world, request_id));
  }
  for (const session of new Set(tasks.map(({ cli_session_id }) => cli_session_id)))
    readings.set(`listTasks of ${session}`, await gateway.listTasks({ session, limit: 100, counts: true }));
  for (const outcome of ['failed', 'cancelled', 'timeout', 'no_agent'] as const)
    readings.set(`listTasks ${outcome}`, await gateway.listTasks({ outcome: [outcome], limit: 100 }));
  readings.set('agents', await listAgents(gateway));
  const { tags, ...counts } = await store.readCounts(20);
  readings.set('counts', counts);
  // They come in no order.
  readings.set('demand', Object.fromEntries(tags.map((demand) => [demand.tag, demand])));
  readings.set('ended', await store.readEnded());
  // The same fields under the same key: the first task, so what a fingerprint covers must not change.
  const repeated = await gateway.submitTask(
    { ...submission(), cli_session_id: 'keys' },
    'key-of-an-open-task',
  );
  readings.set('repeated', repeated);
  // As it goes over the wire.
  return JSON.parse(JSON.stringify(Object.fromEntries(readings)));
}

/** Ends all tasks as clients and agents would, lets the agents leave, and waits until all is forgotten. */
export async function endWorld(world: World): Promise<void> {
  const { gateway, clock, store } = world;
  const { tasks } = await gateway.listTasks({ status: ['pending', 'running'], limit: 100 });
  for (const { request_id } of tasks) {
    const { agent, questions } = await gateway.explainTask(request_id);
    const [question] = questions;
    if (question?.answered_time === null)
      await gateway.answerTask({ request_id, key: question.key, answer: YES });
    if (question) {
      const claim = { agent_id: 'A', request_id, key: question.key, wait: 0 };
      expect(await gateway.claimAnswer(claim, NEVER)).toEqual({ key: question.key, answer: YES });
    }
    if (agent?.agent_id === 'A') await report(world, request_id, { status: 'success', result: {} });
    else await gateway.cancelTask(request_id);
  }
  for (const { agent_id } of (await listAgents(gateway)).agents) await gateway.unregisterAgent(agent_id);
  for (let days = 0; days < 2; days += 1) {
    await clock.advance(DAY_MS);
    // An agent that left is forgotten 90 s after the sweeper has looked again.
    await world.pass(100_000);
    while ((await store.trim(RETENTION, 500)) > 0);
  }
}

/** What a gateway of its time said of a stored file; one of today may say more. */
export function readReadings(file: string): Record<string, unknown> {
  return JSON.parse(readFileSync(nameReadings(file), 'utf8'));
}

export function writeReadings(file: string, readings: Record<string, unknown>): void {
  const lines = Object.entries(readings).map(
    ([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`,
  );
  writeFileSync(nameReadings(file), `{\n${lines.join(',\n')}\n}\n`);
}

function nameReadings(file: string): string {
  return join(STORED_FOLDER, basename(file).replace(/\.\w+$/, '.readings.txt'));
}
