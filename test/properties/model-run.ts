/**
 * One life of a gateway under test: carries out the operations of a plan, with outages and crashes among them, and
 * checks the invariants after each.
 */
import { expect } from 'vitest';
import { type Store, StoreUnavailable } from '../../server/ports/store.ts';
import { createFakeClock, type FakeClock, settleMicrotasks } from '../harness/fake-clock.ts';
import { BROKEN, createFakePusher } from '../harness/fake-pusher.ts';
import { createFaultyStore, type FaultyStore } from '../harness/faulty-store.ts';
import { countIds, createWorld, NEVER, type World } from '../harness/world.ts';
import { call, nameEndpoint } from './gateway-calls.ts';
import { checkInvariants, watchGrants } from './invariants.ts';
import type { Past, Patient } from './model-history.ts';
import { AGENTS, type Operation } from './operations.ts';

/** How a life gets its store: fresh, and again after a crash on what was durable. */
export type Lifetimes = {
  open(clock: FakeClock): Promise<Store>;
  /** Drops the open store as a crash would and opens what is left. Absent: this store does not outlive a crash. */
  reopen?(clock: FakeClock): Promise<Store>;
  end(): Promise<void>;
  /** Plants a wrong design between the gateway and its store. */
  mutate?(store: Store): Store;
};

const SESSIONS = ['s1', 's2'];

/** Runs the operations from a fresh store to the end; throws what the invariants throw. */
export async function live(lifetimes: Lifetimes, plan: readonly Operation[]): Promise<void> {
  const clock = createFakeClock();
  const pusher = createFakePusher();
  const ids = countIds();
  const patients = new Map<string, Patient>();
  const past: Past = { tasks: [], answered: new Set(), settled: new Map(), patients };
  let { world, faulty } = start(await lifetimes.open(clock));

  function start(store: Store): { world: World; faulty: FaultyStore } {
    const faulty = createFaultyStore(watchGrants(store));
    const world = createWorld(lifetimes.mutate?.(faulty) ?? faulty, { clock, pusher, ids });
    for (const session of SESSIONS) subscribe(world, session);
    return { world, faulty };
  }

  /** A patient subscriber resumes from its cursor after a crash or an outage, as a client would. */
  function subscribe(world: World, session: string): void {
    const known = patients.get(session);
    known?.leave.abort();
    const patient: Patient = { seen: known?.seen ?? [], leave: new AbortController() };
    patients.set(session, patient);
    void listen(world, session, patient);
  }

  async function listen({ gateway }: World, session: string, { seen, leave }: Patient): Promise<void> {
    while (!leave.signal.aborted) {
      try {
        const after = seen.at(-1)?.cursor ?? null;
        for await (const item of gateway.subscribeEvents(session, after, (item) => item, leave.signal)) {
          if (!item.gap) seen.push(item);
        }
        return;
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) return;
        // A store that is being closed says so at once: to ask on and on would leave nobody a turn to open the next.
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
  }

  try {
    for (const operation of plan) {
      await carryOut(operation);
      await faulty.spare(() => checkInvariants(world, past));
    }
  } finally {
    for (const { leave } of patients.values()) leave.abort();
    await lifetimes.end();
  }

  async function carryOut(operation: Operation): Promise<void> {
    if (operation.op === 'crash') return await crash();
    if (operation.op === 'die') return await die(operation);
    if (operation.op === 'fault') return faulty.plan(operation.faults);
    if (operation.op === 'pass') return await passTime(operation.ms);
    if (operation.op === 'freeze') {
      faulty.plan([]);
      await clock.advance(operation.ms);
    } else if (operation.op === 'together') {
      await clock.drive(Promise.all(operation.operations.map((one) => call(world, past, one))));
    } else if (operation.op === 'submit') await submitAlone(operation);
    else await clock.drive(call(world, past, operation));
    await settle();
  }

  async function crash(): Promise<void> {
    if (!lifetimes.reopen) return;
    for (let n = 0; n < AGENTS; n += 1) pusher.answer(nameEndpoint(n), BROKEN);
    await settleMicrotasks();
    ({ world, faulty } = start(await lifetimes.reopen(clock)));
    await settle();
  }

  /** Whatever was under way is never answered; what follows is a crash. */
  async function die({ during, afterCommits }: Extract<Operation, { op: 'die' }>): Promise<void> {
    faulty.die(afterCommits);
    void call(world, past, during).catch(() => undefined);
    await clock.advance(1_000);
    void world.settle().catch(() => undefined);
    await settleMicrotasks();
    await crash();
  }

  /** The duties meet planned outages as the running gateway does: they come back to what they left. */
  async function settle(): Promise<void> {
    for (let tries = 0; tries < 8; tries += 1) {
      try {
        return await world.settle();
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error;
      }
    }
  }

  async function passTime(ms: number): Promise<void> {
    faulty.plan([]);
    await world.pass(ms);
  }

  /** Invariant 5, seen from outside: with an eligible agent before and nothing else happening, nobody is abandoned. */
  async function submitAlone(operation: Extract<Operation, { op: 'submit' }>): Promise<void> {
    faulty.plan([]);
    const { agents } = await world.gateway.listAgents();
    const eligible = agents.some(
      (one) => one.eligible && one.agent_tags.some((tag) => operation.tags.includes(tag)),
    );
    const before = past.tasks.length;
    await clock.drive(call(world, past, operation));
    await settle();
    const request_id = past.tasks.length > before ? past.tasks.at(-1) : undefined;
    if (!eligible || request_id === undefined || operation.key !== null) return;
    expect((await world.gateway.getTask(request_id, 0, NEVER)).status, 'invariant 5').not.toBe('failed');
  }
}
