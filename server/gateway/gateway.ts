/**
 * Puts the gateway together: the operations for callers, and the background duties. The server runs the
 * duties on the real clock (`duties.ts`); tests call them one by one.
 */

import type { LargeWork } from '../async/large-work.ts';
import { createPace, type KeepPace } from '../async/pace.ts';
import { createSharedReads } from '../async/shared-reads.ts';
import { isSettled, type TaskState } from '../domain/task.ts';
import type { Clock, Ids, Random } from '../ports/clock.ts';
import type { Figures } from '../ports/figures.ts';
import type { Gateway } from '../ports/gateway.ts';
import type { Log } from '../ports/log.ts';
import type { Observer } from '../ports/observer.ts';
import type { Pusher } from '../ports/pusher.ts';
import type { Retention, Store } from '../ports/store.ts';
import { NO_TRACING, type Tracing } from '../ports/tracing.ts';
import { createAdmin } from './admin/admin-calls.ts';
import { createFigures } from './admin/figures.ts';
import type { OverviewSettings } from './admin/overview/overview.ts';
import { createExternalLoads } from './agents/external-load.ts';
import { createAgentIndex } from './agents/ranking/agent-index.ts';
import { createRegisteredAgents } from './agents/registered-agents.ts';
import { createSeen, noteEvents, noteTouches } from './agents/seen.ts';
import { createAnswerTask } from './calls/answer-task.ts';
import { createCancelTask } from './calls/cancel-task.ts';
import { createClaimAnswer } from './calls/claim-answer.ts';
import { createClaimTask } from './calls/claim-task.ts';
import { createExplainTask } from './calls/explain-task.ts';
import { createGetTask } from './calls/get-task.ts';
import { createHeartbeatAgent } from './calls/heartbeat-agent.ts';
import { createPreviewMatch } from './calls/preview-match.ts';
import { createReadOutput } from './calls/read-output.ts';
import { createRegisterAgent } from './calls/register-agent.ts';
import { createReportResult } from './calls/report-result.ts';
import { createSubmitTask, type TaskLimits } from './calls/submit-task.ts';
import { createSubscribeEvents } from './calls/subscribe-events.ts';
import { createUnregisterAgent } from './calls/unregister-agent.ts';
import { createWriteOutput } from './calls/write-output.ts';
import { limitTime } from './deadline.ts';
import { createDispatcher } from './dispatch/dispatcher.ts';
import { createDuePass } from './dispatch/due-pass.ts';
import { mayLeaveOpenPush } from './dispatch/redelivery.ts';
import { createSweepTimes } from './dispatch/sweep-times.ts';
import { createSweeper } from './dispatch/sweeper.ts';
import { createAcknowledgements } from './pushing/acknowledgements.ts';
import { createPushes } from './pushing/pushes.ts';
import { createTaskCommits } from './tasks/commit-step.ts';

export type GatewayDeps = {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly random: Random;
  readonly pusher: Pusher;
  readonly log: Log;
  readonly observer: Observer;
  readonly limits: TaskLimits & {
    readonly agentsMax: number;
    readonly pushesMax: number;
    /** How many bytes all agents may take of this process's memory. Default: any number. */
    readonly agentBytesMax?: number;
  };
  readonly retention: Retention;
  readonly largeWork: LargeWork;
  /** The pace of due work. Default: a few milliseconds of CPU in a tick. */
  readonly keepPace?: KeepPace;
  /** Default: nothing is traced. */
  readonly tracing?: Tracing;
  /** What the overview says of the gateway itself. */
  readonly overviewSettings?: OverviewSettings;
};

/** The background duties. They throw only what the store throws. */
export type Duties = {
  /** Takes a bounded number of due entries and does what each needs; returns how many it took. */
  runDuePass(): Promise<number>;
  /** Renews the leases of the pushes under way. Also notes the store's health for the overview. */
  renewLeases(): Promise<void>;
  /** Stops pushes under way whose task may move because its agent is gone. */
  stopMovablePushes(): Promise<void>;
  /** Runs one bounded pass of retention; returns how much was removed. */
  trim(): Promise<number>;
  /** Waits for the pushes under way, at most this long, then abandons the rest. */
  drainPushes(graceMs: number): Promise<void>;
};

const OVERVIEW_SETTINGS: OverviewSettings = {
  storeKind: 'memory',
  consoleMode: 'on',
  isSecretPublic: false,
  isMetricsPublic: false,
};

export function createGateway(given: GatewayDeps): { gateway: Gateway; duties: Duties; figures: Figures } {
  // From here on, every touch and event passes through `seen`, which notes it for administrators.
  const seen = createSeen(given.store);
  const store = noteTouches(given.store, seen.contactStrips);
  const observer = noteEvents(given.observer, store, seen);
  const deps = { ...given, ...seen, store, observer };
  const {
    clock,
    limits,
    tracing = NO_TRACING,
    overviewSettings = OVERVIEW_SETTINGS,
    keepPace = createPace(),
  } = deps;
  const agentIndex = createAgentIndex(store, deps.log, keepPace);
  const acknowledgements = createAcknowledgements(clock);
  const commits = createTaskCommits({
    ...deps,
    findAwaited: acknowledgements.find,
    noteSubmitted: ({ request_id, trace }, state) => observer.noteSubmitted(request_id, state, trace),
    noteWritten(transition) {
      const { request_id, before, after } = transition;
      observer.noteStep(transition);
      if (isSettled(after) || after.delivery?.acknowledged) acknowledgements.drop(request_id);
      const released = findReleased(before.value, after);
      if (released !== null) agentIndex.noteRelease(released);
    },
  });
  const agents = createRegisteredAgents({ store, commits, observer });
  const { pushesMax, agentsMax, agentBytesMax = Number.POSITIVE_INFINITY } = limits;
  const pushes = createPushes({ ...deps, tracing, agents, commits, acknowledgements, pushesMax });
  const sweepTimes = createSweepTimes();
  const waitingLooks = createSharedReads<boolean>();
  const dispatching = { keepPace, store, commits, agentIndex, pushes, sweepTimes, tracing, waitingLooks };
  const dispatcher = createDispatcher(dispatching);
  const sweeper = createSweeper({ ...deps, commits, sweepTimes, keepPace });
  const externalLoads = createExternalLoads(deps.store);
  const shared = { ...deps, ...dispatching, agents, agentsMax, agentBytesMax, externalLoads };
  const { keepTasksMs } = deps.retention;
  const admin = createAdmin({ ...shared, keepTasksMs, overviewSettings, limits });
  const { getOverview, ...rowCalls } = admin.calls;

  return {
    gateway: {
      ...limitTime(clock, {
        ...createSubmitTask(shared),
        ...createCancelTask(shared),
        ...createAnswerTask(shared),
        ...createRegisterAgent(shared),
        ...createHeartbeatAgent(shared),
        ...createUnregisterAgent(shared),
        ...createReportResult(shared),
        ...createWriteOutput(shared),
        ...rowCalls,
        ...createExplainTask(shared),
        ...createPreviewMatch(shared),
      }),
      // Operations that may take long, or report an outage themselves, have no time limit as a whole. Each of
      // their reads has one.
      ...createGetTask(shared),
      ...createReadOutput(shared),
      ...createClaimAnswer(shared),
      getOverview,
      ...createClaimTask(shared),
      ...createSubscribeEvents(shared),
      health: () => store.health(),
    },
    duties: {
      runDuePass: createDuePass({ ...deps, ...dispatching, dispatcher, sweeper }),
      async renewLeases() {
        admin.noteHealth();
        await pushes.renewLeases();
      },
      async stopMovablePushes() {
        await agentIndex.refresh();
        await pushes.stopMovable((written) => mayLeaveOpenPush(dispatching, written, store.nowMs()));
      },
      trim: () => sweeper.trim(),
      drainPushes: (graceMs) => pushes.drain(graceMs),
    },
    figures: createFigures({ store, clock, agentIndex }),
  };
}

/** Finds the agent whose slot the task no longer holds; null if there is none. */
function findReleased(before: TaskState, after: TaskState): string | null {
  const isReleased = before.status === 'running' && (isSettled(after) || after.agent_id !== before.agent_id);
  return isReleased ? before.agent_id : null;
}
