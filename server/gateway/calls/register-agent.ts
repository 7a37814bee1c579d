/** `registerAgent`: an agent says where it is, which tags it has and how many tasks it takes at once. */
import {
  type AgentFields,
  type AgentRecord,
  agentState,
  completeAgent,
  OFFLINE_AFTER_MS,
} from '../../domain/agent.ts';
import { mayBeTaken } from '../../domain/task.ts';
import type { Ids } from '../../ports/clock.ts';
import { type Gateway, GatewayError, type Registration } from '../../ports/gateway.ts';
import type { Observer } from '../../ports/observer.ts';
import { type AgentStatus, agentRef, type Store } from '../../ports/store.ts';
import {
  acknowledgeNamed,
  listAssigned,
  listCancelled,
  makeUnacknowledgedDue,
  stepWhileRegistered,
} from '../agents/assignments.ts';
import type { ExternalLoads } from '../agents/external-load.ts';
import type { AgentIndex } from '../agents/ranking/agent-index.ts';
import type { TaskCommits } from '../tasks/commit-step.ts';

/** The longest heartbeat interval that the response asks for, in seconds. */
const HEARTBEAT_INTERVAL_SECONDS = 15;
/** How many heartbeats fit into `lost_after`, so that one late heartbeat does not make the agent lost. */
const HEARTBEATS_WITHIN_LOST_AFTER = 3;
/** If the agent had contact within this time, its earlier process may still run. */
const LATE_CONTACT_MS = 30_000;

type Deps = {
  readonly store: Store;
  readonly ids: Ids;
  readonly commits: TaskCommits;
  readonly externalLoads: ExternalLoads;
  readonly observer: Pick<Observer, 'noteAgent'>;
  readonly agentsMax: number;
  /** How many bytes all agents may take of this process's memory, most of them for tags. */
  readonly agentBytesMax: number;
  readonly agentIndex: Pick<AgentIndex, 'memory' | 'whenRefreshed'>;
};

export function createRegisterAgent(deps: Deps): Pick<Gateway, 'registerAgent'> {
  const { store } = deps;
  return {
    async registerAgent(registration) {
      const { agent_id, request_ids } = registration;
      const { agentStatus, wasUnavailable } = await writeRegistration(deps, registration);
      if (request_ids) {
        await acknowledgeNamed(deps, agentStatus.record, request_ids);
        await disownOthers(deps, agentStatus.record, request_ids);
      }
      if (wasUnavailable) await makeUnacknowledgedDue(deps, agent_id);
      return {
        ok: true,
        agent_id,
        state: agentState(agentStatus.record, agentStatus.slots),
        registration: agentStatus.record.registration,
        heartbeat_interval: chooseInterval(registration),
        offline_after: OFFLINE_AFTER_MS / 1_000,
        cancelled_request_ids: await listCancelled(store, agent_id, request_ids),
        ...(agentStatus.record.replaced && { replaced: true }),
      };
    },
  };
}

function chooseInterval({ lost_after = Number.POSITIVE_INFINITY }: Registration): number {
  return Math.min(HEARTBEAT_INTERVAL_SECONDS, lost_after / HEARTBEATS_WITHIN_LOST_AFTER);
}

/** Never refuses a registration that takes no more memory than the one it replaces. */
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

/** Replaces the agent's record. The last registration wins; tasks that run keep running. */
async function writeRegistration(
  deps: Deps,
  registration: Registration,
): Promise<{
  agentStatus: Pick<AgentStatus, 'record' | 'slots'>;
  wasUnavailable: boolean;
}> {
  const { store, ids, agentsMax } = deps;
  const { agent_id } = registration;
  return await deps.commits.retryCommit(async (notAfterMs) => {
    const before = await store.getAgentStatus(agent_id);
    // After a start the agents are still being read, and until then their memory looks too small.
    await deps.agentIndex.whenRefreshed();
    requireMemory(deps, registration, before?.record);
    const slots = before?.slots ?? (await listAssigned(store, agent_id)).length;
    const nowMs = store.nowMs();
    const wasUnavailable =
      !before || before.record.unregisteredMs !== null || before.record.offlineMs !== null;
    const isReplaced = !wasUnavailable && nowMs - before.contact.contactMs < LATE_CONTACT_MS;
    const fields: AgentFields = {
      agent_id,
      endpoint: registration.endpoint,
      agent_tags: registration.agent_tags,
      max_concurrent: registration.max_concurrent,
      external: await deps.externalLoads.read(registration, slots, before?.record.external),
      registration: ids.newRegistration(),
      registeredMs: nowMs,
      draining: false,
      ...(before?.record.drained_by_operator && { drained_by_operator: true }),
      ...(isReplaced && { replaced: true }),
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
      if (isReplaced) deps.observer.noteAgent('replaced', record);
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
 * Disowns tasks that were sent to the agent before this registration, unless the agent names them: they are
 * pushed again. Such a task may be acknowledged, or its push may still be under way, because that push may
 * reach the earlier process. The push keeps its lease, so that no second push runs beside it. For example, an
 * agent crashes with three tasks and registers again with `request_ids: []`: it gets all three once more.
 */
async function disownOthers(deps: Deps, record: AgentRecord, request_ids: readonly string[]): Promise<void> {
  const { agent_id, registeredMs } = record;
  const named = new Set(request_ids);
  const others = (await listAssigned(deps.store, agent_id)).filter(({ request_id, delivery }) => {
    const wasSentBefore = mayBeTaken(delivery) && (delivery.attemptMs ?? 0) <= registeredMs;
    return wasSentBefore && !named.has(request_id);
  });
  const steps = others.map(({ request_id, delivery: { attempts } }) => {
    return { request_id, trigger: { type: 'disown', agent_id, attempts } as const };
  });
  await stepWhileRegistered(deps, record, steps, { unlessHeld: true });
}
