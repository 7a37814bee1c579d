/**
 * The gateway, put together: the operations for callers, and the background duties. The server drives the
 * duties on the real clock (`server/duties.ts`); tests call them one by one.
 */
import type { LargeWork } from '../async/large-work.ts';
import type { Clock, Ids, Random } from '../ports/clock.ts';
import type { Gateway } from '../ports/gateway.ts';
import type { Log } from '../ports/log.ts';
import type { Pusher } from '../ports/pusher.ts';
import type { Retention, Store } from '../ports/store.ts';
import { createAgentIndex } from './agent-index.ts';
import { createAgents } from './agents.ts';
import { createClaims } from './claims.ts';
import { createTaskCommits } from './commit-step.ts';
import { limitTime } from './deadline.ts';
import { mayLeaveOpenPush } from './delivery.ts';
import { createDispatcher } from './dispatcher.ts';
import { createDueTurn } from './due-turn.ts';
import { createEvents } from './events.ts';
import { createLargeTasks } from './large-tasks.ts';
import { createListings } from './listings.ts';
import { createPushes } from './pushes.ts';
import { createRecentReports } from './recent-reports.ts';
import { createRegisteredAgents } from './registered-agents.ts';
import { createReports } from './reports.ts';
import { createSweepTimes } from './sweep-times.ts';
import { createSweeper } from './sweeper.ts';
import { createTasks, type TaskLimits } from './tasks.ts';

export type GatewayDeps = {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly random: Random;
  readonly pusher: Pusher;
  readonly log: Log;
  readonly limits: TaskLimits & {
    readonly agentsMax: number;
    readonly pushesMax: number;
    readonly tagCharsMax?: number;
  };
  readonly retention: Retention;
  readonly largeWork: LargeWork;
};

/** The background duties. None of them throws anything but what the store throws. */
export type Duties = {
  /** Takes a bounded number of due entries and does what each needs; returns how many it took. */
  turn(): Promise<number>;
  /** Renews the leases of the pushes under way, and stops those whose task may move. */
  renewLeases(): Promise<void>;
  /** Runs one bounded turn of retention; returns how much was removed. */
  trim(): Promise<number>;
  /** Waits at most this long for the pushes under way, then abandons them. */
  drainPushes(graceMs: number): Promise<void>;
};

/** How often open pushes are looked at, whose task may move because its agent is gone. */
const LOOK_AT_PUSHES_EVERY_MS = 1_000;

/** Puts the gateway together over its ports. */
export function createGateway(deps: GatewayDeps): { gateway: Gateway; duties: Duties } {
  const { store, clock, limits } = deps;
  const commits = createTaskCommits(deps);
  const agents = createRegisteredAgents({ store, commits });
  const agentIndex = createAgentIndex(store);
  const pushes = createPushes({ ...deps, agents, commits, pushesMax: limits.pushesMax });
  const sweepTimes = createSweepTimes();
  const dispatching = { store, commits, agentIndex, pushes, sweepTimes };
  const dispatcher = createDispatcher(dispatching);
  const sweeper = createSweeper({ store, commits, retention: deps.retention, sweepTimes });
  const largeTasks = createLargeTasks(deps.largeWork);
  const recentReports = createRecentReports();
  const tagLimit = limits.tagCharsMax === undefined ? {} : { tagCharsMax: limits.tagCharsMax };
  const shared = {
    ...deps,
    commits,
    agents,
    agentIndex,
    agentsMax: limits.agentsMax,
    ...tagLimit,
    largeTasks,
    recentReports,
  };
  const { getTask, ...tasks } = createTasks(shared);
  const { listAgents, listTasks } = createListings(shared);
  let lookAtPushesMs = 0;

  return {
    gateway: {
      ...limitTime(clock, {
        ...tasks,
        ...createAgents(shared),
        ...createReports(shared),
        listTasks,
      }),
      // A call that may take long has no deadline as a whole; each of its reads is bounded.
      getTask,
      listAgents,
      ...createClaims(shared),
      ...createEvents(shared),
      health: () => store.health(),
    },
    duties: {
      turn: createDueTurn({ ...deps, ...dispatching, dispatcher, sweeper }),
      async renewLeases() {
        await pushes.renewLeases();
        if (store.nowMs() < lookAtPushesMs) return;
        lookAtPushesMs = store.nowMs() + LOOK_AT_PUSHES_EVERY_MS;
        await agentIndex.refresh();
        await pushes.stopMovable((written) => mayLeaveOpenPush(dispatching, written, store.nowMs()));
      },
      trim: () => sweeper.trim(),
      drainPushes: (graceMs) => pushes.drain(graceMs),
    },
  };
}
