/**
 * What falls due later for what is stored, as data: what begins it, and how the counts of tasks say that it
 * is over. What the gateway does by itself, and has no phase here, does not compile.
 */
import type { Trigger } from '../../../server/domain/triggers.ts';
import type { Duties } from '../../../server/gateway/gateway.ts';
import type { Store } from '../../../server/ports/store.ts';
import { type Call, send } from '../../contract/usual-calls.ts';
import { addExpired, addMoreEnded, agentId, HELD, LEAVERS, LOSERS, WAITING, WANTED } from './full-store.ts';
import {
  buildCounts,
  buildPreview,
  buildRegistration,
  buildUnregistration,
  buildWaiting,
} from './worst-calls.ts';

/** The counts of `listTasks`. */
export type Counts = {
  readonly by_status: Readonly<Record<'pending' | 'success' | 'failed', number>>;
  readonly by_outcome: Readonly<Record<'no_agent' | 'agent_lost', number>>;
};

export type Phase = {
  readonly at: string;
  /** The gateway is started again with these settings, and what is written while it is away. */
  readonly restart?: {
    readonly settings?: Readonly<Record<string, string>>;
    readonly change?: (store: Store) => Promise<void>;
  };
  /** Calls that begin it, all at once; each try has another number. */
  readonly calls?: (n: number) => readonly Call[];
  /** By default it is over when the gateway is quiet. */
  readonly isOver?: (before: Counts, now: Counts) => boolean;
};

const WAITS = 20;
const EXPIRED = 5_000;
/** Removed in five passes of retention, one a second; the others cost the same. */
const TRIMMED = 2_500;
/** From this one on, an agent at each try gets other tags: no further agent may register. */
const NEWCOMER = 300;

/** In the order in which they run. */
export const PHASES = {
  waitsEnd: {
    at: 'the waits of 20 tasks with 64 unknown tags like those of agents end',
    calls: () => Array.from({ length: WAITS }, buildWaiting),
    isOver: (before, now) => now.by_outcome.no_agent >= before.by_outcome.no_agent + WAITS,
  },
  agentComes: {
    at: '1,000 tasks that wait get an agent, each with its 64 tags of 256 characters',
    calls: (n) => [buildRegistration({ agent_id: agentId(NEWCOMER + n), agent_tags: WANTED[n] })],
    isOver: (before, now) => now.by_status.pending <= before.by_status.pending - WAITING / 2,
  },
  agentIsLost: {
    at: '2,000 tasks of an agent are lost',
    calls: (n) => [buildRegistration({ agent_id: LOSERS[n], agent_tags: ['held'], lost_after: 3 })],
    isOver: (before, now) => now.by_outcome.agent_lost >= before.by_outcome.agent_lost + HELD,
  },
  agentLeaves: {
    at: '2,000 tasks of an agent that unregisters look for another',
    calls: (n) => [buildUnregistration(LEAVERS[n] ?? '')],
  },
  deadlines: {
    at: 'a start with 20,000 agents, which the first match reads, and 5,000 deadlines that have passed',
    restart: { change: (store) => addExpired(store, EXPIRED) },
    calls: () => [buildPreview()],
    isOver: (before, now) => now.by_status.failed >= before.by_status.failed + EXPIRED,
  },
  retention: {
    at: 'the retention of thousands of tasks that have ended',
    restart: {
      settings: { KEEP_TASKS_HOURS: '0.01' },
      change: (store) => addMoreEnded(store, EXPIRED),
    },
    isOver: (before, now) => now.by_status.success <= before.by_status.success + EXPIRED - TRIMMED,
  },
} satisfies Readonly<Record<string, Phase>>;

type Elsewhere = `not here: ${string}`;

/** Each duty, and each step of a task, with the phase that has most of it at once. */
export const FALLS_DUE: Readonly<Record<keyof Duties | Trigger['type'], keyof typeof PHASES | Elsewhere>> = {
  runDuePass: 'deadlines',
  trim: 'retention',
  renewLeases: 'not here: only of pushes under way, which are bounded',
  stopMovablePushes: 'not here: only of pushes under way, which are bounded',
  drainPushes: 'not here: only of pushes under way, which are bounded',
  assign: 'agentComes',
  wait: 'agentLeaves',
  stay: 'agentLeaves',
  reassign: 'agentLeaves',
  lose: 'agentIsLost',
  expire: 'deadlines',
  abandon: 'waitsEnd',
  attempt: 'not here: pushes are bounded, claims are calls',
  untaken: 'not here: the outcome of a push',
  unknown: 'not here: the outcome of a push',
  fetch: 'not here: one look at a task whose agent pulls now',
  acknowledge: 'not here: a call, or the outcome of a push',
  disown: 'not here: a call',
  progress: 'not here: a call',
  write: 'not here: a call',
  answer: 'not here: a call',
  succeed: 'not here: a call',
  fail: 'not here: a call',
  cancel: 'not here: a call',
};

/** How many tasks there are now, by class. */
export async function readCounts(baseUrl: string): Promise<Counts> {
  const page = JSON.parse((await send(baseUrl, buildCounts())).text) as { readonly counts: Counts };
  return page.counts;
}
