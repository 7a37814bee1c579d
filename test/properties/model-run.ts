/**
 * One model run: carries out the operations of a plan on a gateway, with outages and crashes among them, and
 * requires the invariants after each.
 */
import { expect } from 'vitest';
import { type Store, StoreUnavailable } from '../../server/ports/store.ts';
import { createFakeClock, type FakeClock, flushMicrotasks } from '../harness/fake-clock.ts';
import { BROKEN, createFakePusher, type FakePusher } from '../harness/fake-pusher.ts';
import { createFaultyStore, type FaultyStore } from '../harness/faulty-store.ts';
import { listAgents } from '../harness/listings.ts';
import { countIds, createWorld, type Ids, NEVER, type World } from '../harness/world.ts';
import { call } from './gateway-calls.ts';
import { requireInvariants, watchGrants } from './invariants.ts';
import { nameEndpoint } from './model-agents.ts';
import type { ModelHistory } from './model-history.ts';
import { createSubscribers, type ModelSubscribers } from './model-subscribers.ts';
import { AGENTS, type Operation } from './operations.ts';

/** The stores of one model run: a fresh one, and after each crash one on the data that was durable. */
export type ModelStores = {
  open(clock: FakeClock): Promise<Store>;
  /**
   * Drops the open store as a crash would, and opens its data again. Absent: this store does not survive a
   * crash.
   */
  reopen?(clock: FakeClock): Promise<Store>;
  /** Closes the last store and removes its data. */
  end(): Promise<void>;
  /** Plants a wrong design between the gateway and its store. */
  mutate?(store: Store): Store;
};

/** What lasts for the whole run, and the gateway that runs now on its store. */
type ModelRun = {
  readonly stores: ModelStores;
  readonly clock: FakeClock;
  readonly pusher: FakePusher;
  readonly ids: Ids;
  readonly subscribers: ModelSubscribers;
  readonly history: ModelHistory;
  world: World;
  faulty: FaultyStore;
};

const SESSIONS = ['s1', 's2'];

/** Runs the plan from a fresh store to its end. Throws when an invariant does not hold. */
export async function runModel(stores: ModelStores, plan: readonly Operation[]): Promise<void> {
  const run = await startRun(stores);
  try {
    for (const operation of plan) {
      await carryOut(run, operation);
      await run.faulty.spare(() => requireInvariants(run.world, run.history));
    }
  } finally {
    run.subscribers.disconnect();
    await stores.end();
  }
}

async function startRun(stores: ModelStores): Promise<ModelRun> {
  const clock = createFakeClock();
  const subscribers = createSubscribers(SESSIONS);
  const { received } = subscribers;
  const history: ModelHistory = {
    tasks: [],
    submitted: new Set(),
    registrations: new Map(),
    limits: new Map(),
    settled: new Map(),
    written: new Map(),
    ends: new Map(),
    asked: [],
    answered: [],
    crashedMs: 0,
    received,
  };
  const lasting = { stores, clock, pusher: createFakePusher(), ids: countIds(), subscribers, history };
  return { ...lasting, ...startGateway(lasting, await stores.open(clock)) };
}

/** Puts a gateway on the store and connects the subscribers to it. */
function startGateway(
  { stores, clock, pusher, ids, subscribers, history }: Omit<ModelRun, 'world' | 'faulty'>,
  store: Store,
): Pick<ModelRun, 'world' | 'faulty'> {
  const faulty = createFaultyStore(watchGrants(store, history.limits));
  const world = createWorld(stores.mutate?.(faulty) ?? faulty, { clock, pusher, ids });
  subscribers.connect(world);
  return { world, faulty };
}

async function carryOut(run: ModelRun, operation: Operation): Promise<void> {
  const { clock, faulty, world, history } = run;
  if (operation.op === 'crash') return await crash(run);
  if (operation.op === 'stop') return await stop(run);
  if (operation.op === 'die') return await die(run, operation);
  if (operation.op === 'fault') return faulty.plan(operation.faults);
  if (operation.op === 'pass') return await passTime(run, operation.ms);
  if (operation.op === 'freeze') {
    faulty.plan([]);
    await clock.advance(operation.ms);
  } else if (operation.op === 'together') {
    await clock.drive(Promise.all(operation.operations.map((one) => call(world, history, one))));
  } else if (operation.op === 'submit') await submitAlone(run, operation);
  else await clock.drive(call(world, history, operation));
  await runDuties(run);
}

async function crash(run: ModelRun): Promise<void> {
  const { stores, clock, pusher } = run;
  if (!stores.reopen) return;
  for (let n = 0; n < AGENTS; n += 1) pusher.respond(nameEndpoint(n), BROKEN);
  await flushMicrotasks();
  run.history.crashedMs = run.world.store.nowMs();
  ({ world: run.world, faulty: run.faulty } = startGateway(run, await stores.reopen(clock)));
  await runDuties(run);
}

/** The process drains its pushes, then the next one starts on what it left. */
async function stop(run: ModelRun): Promise<void> {
  run.faulty.plan([]);
  if (run.stores.reopen) await run.clock.drive(run.world.duties.drainPushes(0));
  await crash(run);
}

/** The operation never completes, and a crash follows. */
async function die(run: ModelRun, operation: Extract<Operation, { op: 'die' }>): Promise<void> {
  const { world, history } = run;
  run.faulty.die(operation.afterCommits);
  void call(world, history, operation.during).catch(() => undefined);
  await run.clock.advance(1_000);
  void world.runUntilIdle().catch(() => undefined);
  await flushMicrotasks();
  await crash(run);
}

/** Runs the duties through planned outages: like the running gateway, they try again what failed. */
async function runDuties({ world }: ModelRun): Promise<void> {
  for (let tries = 0; tries < 8; tries += 1) {
    try {
      return await world.runUntilIdle();
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
    }
  }
}

async function passTime({ faulty, world }: ModelRun, ms: number): Promise<void> {
  faulty.plan([]);
  await world.pass(ms);
}

/**
 * Requires invariant 5: while an agent is eligible and nothing else happens, a submitted task is not
 * abandoned.
 */
async function submitAlone(run: ModelRun, operation: Extract<Operation, { op: 'submit' }>): Promise<void> {
  const { clock, world, faulty, history } = run;
  faulty.plan([]);
  const { agents } = await listAgents(world.gateway);
  const eligible = agents.some(
    (one) => one.eligible && one.agent_tags.some((tag) => operation.tags.includes(tag)),
  );
  const before = history.tasks.length;
  await clock.drive(call(world, history, operation));
  await runDuties(run);
  const request_id = history.tasks.length > before ? history.tasks.at(-1) : undefined;
  if (!eligible || request_id === undefined || operation.key !== null) return;
  expect((await world.gateway.getTask(request_id, 0, NEVER)).task.status, 'invariant 5').not.toBe('failed');
}
