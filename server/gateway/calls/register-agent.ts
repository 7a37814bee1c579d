/** The agent's operations: register, heartbeat, unregister. Claim and report stand in files of their own. */
import { runInSlices } from '../../async/slices.ts';
import {
  type AgentFields,
  type AgentRecord,
  agentState,
  completeAgent,
  externalLoad,
  OFFLINE_AFTER_MS,
} from '../../domain/agent.ts';
import { GONE_AFTER_MS } from '../../domain/delivery.ts';
import { mayBeTaken } from '../../domain/task.ts';
import type { Ids } from '../../ports/clock.ts';
import { type Gateway, GatewayError, type Registration } from '../../ports/gateway.ts';
import type { Observer } from '../../ports/observer.ts';
import { type AgentStatus, agentRef, type Store, taskRef } from '../../ports/store.ts';
import {
  acknowledgeNamed,
  listAssigned,
  listCancelled,
  lookAtUnacknowledged,
} from '../agents/assignments.ts';
import type { AgentIndex } from '../agents/ranking/agent-index.ts';
import type { RecentReports } from '../agents/recent-reports.ts';
import { agentNotFound, type RegisteredAgents } from '../agents/registered-agents.ts';
import type { TaskCommits } from '../tasks/commit-step.ts';

/** Seconds between heartbeats that the register response asks for. */
const HEARTBEAT_INTERVAL_SECONDS = 15;

type Deps = {
  readonly store: Store;
  readonly ids: Ids;
  readonly commits: TaskCommits;
  readonly agents: RegisteredAgents;
  readonly recentReports: RecentReports;
  readonly observer: Pick<Observer, 'noteAgent'>;
  readonly agentsMax: number;
  /** Bytes that all agents may take of this process's memory, most of it for their tags. */
  readonly agentBytesMax: number;
  readonly agentIndex: Pick<AgentIndex, 'memory'>;
};

/** Creates the agents' operations except claim and report. */
export function createAgents(
  deps: Deps,
): Pick<Gateway, 'registerAgent' | 'heartbeatAgent' | 'unregisterAgent'> {
  const { store, agents } = deps;
  return {
    async registerAgent(registration) {
      const { agent_id, request_ids } = registration;
      const { agentStatus, wasUnavailable } = await writeRegistration(deps, registration);
      if (request_ids) {
        await acknowledgeNamed(deps, agent_id, request_ids);
        await disownOthers(deps, agentStatus.record, request_ids);
      }
      if (wasUnavailable) await lookAtUnacknowledged(deps, agent_id);
      return {
        ok: true,
        agent_id,
        state: agentState(agentStatus.record, agentStatus.slots),
        registration: agentStatus.record.registration,
        heartbeat_interval: HEARTBEAT_INTERVAL_SECONDS,
        offline_after: OFFLINE_AFTER_MS / 1_000,
        cancelled_request_ids: await listCancelled(store, agent_id, request_ids),
      };
    },

    async heartbeatAgent({ agent_id, current_load, request_ids, registration, draining }) {
      await agents.noteContact(agent_id, { by: 'beat' });
      const agentStatus = await agents.changeRecord(agent_id, (record, { slots }) => {
        // A process that has a successor under its agent_id must not drain or fill it.
        if (registration !== undefined && registration !== record.registration) return record;
        return {
          ...record,
          ...(draining !== undefined && { draining }),
          ...(current_load !== undefined && {
            external: externalLoad(
              current_load,
              countOwnTasks(deps, agent_id, request_ids, slots),
              record.external,
            ),
          }),
        };
      });
      if (request_ids) await acknowledgeNamed(deps, agent_id, request_ids);
      return {
        ok: true,
        agent_id,
        state: agentState(agentStatus.record, agentStatus.slots),
        cancelled_request_ids: await listCancelled(store, agent_id, request_ids),
      };
    },

    async unregisterAgent(agent_id, registration) {
      if (await markUnregistered(deps, agent_id, registration)) {
        await rescheduleUnacknowledged(deps, agent_id);
      }
      return { ok: true, agent_id };
    },
  };
}

/** How many of its tasks an agent has counted in its load: those it names, else about as many as it has. */
function countOwnTasks(
  { store, recentReports }: Deps,
  agent_id: string,
  request_ids: readonly string[] | undefined,
  slots: number,
): { readonly ownTasks: number; readonly justReported: number } {
  if (request_ids) return { ownTasks: new Set(request_ids).size, justReported: 0 };
  return { ownTasks: slots, justReported: recentReports.count(agent_id, store.nowMs()) };
}

/** A registration that takes no more memory than the one it replaces is never refused. */
function requireMemory(
  { agentIndex, agentBytesMax }: Deps,
  registration: Registration,
  before: AgentRecord | undefined,
): void {
  const more = agentIndex.memory.estimateMore(registration, before);
  if (more <= 0 || agentIndex.memory.bytes() + more <= agentBytesMax) return;
  throw new GatewayError(
    'busy',
    'The agents and their tags take almost all the memory they may. Register with fewer or shorter tags, or unregister agents that are not needed; each makes room after 90 seconds.',
  );
}

/** Replaces the agent's record. The last registration wins; tasks in flight keep running. */
async function writeRegistration(
  deps: Deps,
  registration: Registration,
): Promise<{ agentStatus: Pick<AgentStatus, 'record' | 'slots'>; wasUnavailable: boolean }> {
  const { store, ids, agentsMax } = deps;
  const { agent_id } = registration;
  return await deps.commits.retryCommit(async (notAfterMs) => {
    const before = await store.getAgentStatus(agent_id);
    requireMemory(deps, registration, before?.record);
    const slots = before?.slots ?? (await listAssigned(store, agent_id)).length;
    const nowMs = store.nowMs();
    const ownTasks = countOwnTasks(deps, agent_id, registration.request_ids, slots);
    const fields: AgentFields = {
      agent_id,
      endpoint: registration.endpoint,
      agent_tags: registration.agent_tags,
      max_concurrent: registration.max_concurrent,
      external: externalLoad(registration.current_load, ownTasks, before?.record.external ?? 0),
      registration: ids.newRegistration(),
      registeredMs: nowMs,
      draining: false,
      offlineMs: null,
      left: false,
      unregisteredMs: null,
      lostAfterMs: registration.lost_after === undefined ? null : Math.ceil(registration.lost_after * 1_000),
    };
    const record = completeAgent(fields);
    const result = await store.commit({
      writes: [{ kind: 'agent', id: agent_id, expect: before?.revision ?? 'absent', value: record }],
      due: [{ ref: agentRef(agent_id), atMs: nowMs }],
      atMost: { agents: agentsMax },
      notAfterMs,
    });
    if (result.ok) {
      deps.observer.noteAgent('registered', record);
      const wasUnavailable =
        !before || before.record.unregisteredMs !== null || before.record.offlineMs !== null;
      return { agentStatus: { record, slots }, wasUnavailable };
    }
    if (result.conflict === 'full') {
      throw new GatewayError(
        'busy',
        `${agentsMax} agents are registered already. Unregister some; each makes room after 90 seconds.`,
      );
    }
    return undefined;
  });
}

/**
 * Tasks that were sent to the agent before this registration, and that it does not name, are pushed to it
 * again: those it had acknowledged, and those whose push is still under way and may have reached a process
 * that has ended since. A push under way keeps its lease, so that no second push runs beside it.
 */
async function disownOthers(
  deps: Deps,
  { agent_id, registeredMs }: AgentFields,
  request_ids: readonly string[],
): Promise<void> {
  const named = new Set(request_ids);
  const others = (await listAssigned(deps.store, agent_id)).filter(({ request_id, delivery }) => {
    const wasSentBefore = mayBeTaken(delivery) && (delivery.attemptMs ?? 0) <= registeredMs;
    return wasSentBefore && !named.has(request_id);
  });
  await runInSlices(others, ({ request_id }) =>
    deps.commits.advanceTask(request_id, { type: 'disown', agent_id }, { unlessHeld: true }),
  );
}

/**
 * From this commit on the agent is unknown to every call and gets no task. Its record stays for 90 s, because
 * a task it may have taken must not move sooner. Returns false, having done nothing, if the agent has
 * registered again since `registration`.
 */
async function markUnregistered(
  { store, commits, observer }: Deps,
  agent_id: string,
  registration: string | undefined,
): Promise<boolean> {
  return await commits.retryCommit(async (notAfterMs) => {
    const before = await store.getAgentStatus(agent_id);
    if (!before || before.record.unregisteredMs !== null) throw agentNotFound();
    if (registration !== undefined && registration !== before.record.registration) return false;
    const nowMs = store.nowMs();
    const value = completeAgent({ ...before.record, unregisteredMs: nowMs });
    const result = await store.commit({
      writes: [{ kind: 'agent', id: agent_id, expect: before.revision, value }],
      due: [{ ref: agentRef(agent_id), atMs: nowMs + GONE_AFTER_MS }],
      notAfterMs,
    });
    if (!result.ok) return undefined;
    observer.noteAgent('unregistered', value);
    return true;
  });
}

/** What was never taken moves at once, what may have been taken after 90 s; acknowledged tasks stay. */
async function rescheduleUnacknowledged({ store, commits }: Deps, agent_id: string): Promise<void> {
  const nowMs = store.nowMs();
  const due = (await listAssigned(store, agent_id))
    .filter(({ delivery }) => !delivery.acknowledged)
    .map(({ request_id, delivery, deadlineMs }) => ({
      ref: taskRef(request_id),
      atMs: Math.min(deadlineMs, mayBeTaken(delivery) ? nowMs + GONE_AFTER_MS : nowMs),
    }));
  if (due.length > 0) await commits.reschedule(due);
}
