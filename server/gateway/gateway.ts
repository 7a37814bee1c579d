/**
 * The gateway, put together: the operations for those who call, and the duties that run beside them (`turn()` takes
 * what is due, `tend()` renews leases and trims). Whoever starts it drives the duties; tests drive them by hand.
 */
import type { Clock, Ids, Random } from '../ports/clock.ts';
import type { Gateway } from '../ports/gateway.ts';
import type { Log } from '../ports/log.ts';
import type { Pusher } from '../ports/pusher.ts';
import type { Retention, Store } from '../ports/store.ts';
import { createAgentIndex } from './agent-index.ts';
import { createAgents } from './agents.ts';
import { createClaims } from './claims.ts';
import { createTransitions } from './commit-step.ts';
import { limitTime } from './deadline.ts';
import { createDispatcher } from './dispatcher.ts';
import { createEvents } from './events.ts';
import { createListings } from './listings.ts';
import { createPushes } from './pushes.ts';
import { createRegisteredAgents } from './registered-agents.ts';
import { createReports } from './reports.ts';
import { createSweeper } from './sweeper.ts';
import { createTasks, type TaskLimits } from './tasks.ts';

export type GatewayDeps = {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly random: Random;
  readonly pusher: Pusher;
  readonly log: Log;
  readonly limits: TaskLimits & { readonly agentsMax: number; readonly pushesMax: number };
  readonly retention: Retention;
};

/** The duties beside the calls. None of them throws anything but what the store throws. */
export type Duties = {
  /** Takes what is due, at most a slice, and does what it needs; says how many entries it took. */
  turn(): Promise<number>;
  /** Renews the leases of the pushes under way. */
  renewLeases(): Promise<void>;
  /** One bounded turn of retention; says how much went. */
  trim(): Promise<number>;
  /** Waits for the pushes under way for so long, then abandons them. */
  drainPushes(graceMs: number): Promise<void>;
};

const DUE_SLICE = 500;

/** Puts the gateway together over its ports. */
export function createGateway(deps: GatewayDeps): { gateway: Gateway; duties: Duties } {
  const { store, clock, limits } = deps;
  const transitions = createTransitions(deps);
  const contacts = createRegisteredAgents({ store, transitions });
  const agentIndex = createAgentIndex(store);
  const pushes = createPushes({ ...deps, contacts, transitions });
  const dispatcher = createDispatcher({ store, agentIndex, pushes, pushesMax: limits.pushesMax });
  const sweeper = createSweeper({ store, transitions, retention: deps.retention });
  const parts = { ...deps, transitions, contacts, agentsMax: limits.agentsMax };
  const { getTask, ...tasks } = createTasks(parts);

  return {
    gateway: {
      ...limitTime(clock, {
        ...tasks,
        ...createAgents(parts),
        ...createReports(parts),
        ...createListings(parts),
      }),
      // What may wait long has no deadline as a whole; the store bounds each of its looks.
      getTask,
      ...createClaims(parts),
      ...createEvents(parts),
      health: () => store.health(),
    },
    duties: {
      async turn() {
        const due = await store.takeDue(DUE_SLICE);
        if (due.length === 0) return 0;
        await agentIndex.refresh();
        await Promise.all(
          due.map(({ ref, lease }) => {
            const id = ref.slice(ref.indexOf(':') + 1);
            return ref.startsWith('task:')
              ? dispatcher.lookAtTask(id, lease)
              : sweeper.lookAtAgent(id, lease);
          }),
        );
        return due.length;
      },
      renewLeases: () => pushes.keep(),
      trim: () => sweeper.trim(),
      drainPushes: (graceMs) => pushes.drain(graceMs),
    },
  };
}
