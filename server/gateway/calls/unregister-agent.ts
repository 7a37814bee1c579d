/**
 * `unregisterAgent`: an agent leaves. Tasks that it has acknowledged stay with it. A task that it certainly
 * does not have moves at once; a task that it may have moves after 90 s.
 */
import { completeAgent } from '../../domain/agent.ts';
import { GONE_AFTER_MS } from '../../domain/delivery.ts';
import type { Gateway } from '../../ports/gateway.ts';
import type { Observer } from '../../ports/observer.ts';
import { agentRef, type Store } from '../../ports/store.ts';
import { makeUnacknowledgedDue } from '../agents/assignments.ts';
import { agentNotFound } from '../agents/registered-agents.ts';
import type { TaskCommits } from '../tasks/commit-step.ts';

type Deps = {
  readonly store: Store;
  readonly commits: TaskCommits;
  readonly observer: Pick<Observer, 'noteAgent'>;
};

export function createUnregisterAgent(deps: Deps): Pick<Gateway, 'unregisterAgent'> {
  return {
    async unregisterAgent(agent_id, registration) {
      if (await markUnregistered(deps, agent_id, registration)) {
        await makeUnacknowledgedDue(deps, agent_id);
      }
      return { ok: true, agent_id };
    },
  };
}

/**
 * From this commit on, the agent is unknown to every call and gets no task. Its record stays for 90 s,
 * because a task that it may have must not move earlier. Returns false, and changes nothing, if the agent has
 * registered again since `registration` or since this call first read its record.
 */
async function markUnregistered(
  { store, commits, observer }: Deps,
  agent_id: string,
  registration: string | undefined,
): Promise<boolean> {
  let leaving = registration;
  return await commits.retryCommit(async (notAfterMs) => {
    const before = await store.getAgentStatus(agent_id);
    if (!before || before.record.unregisteredMs !== null) throw agentNotFound();
    leaving ??= before.record.registration;
    if (leaving !== before.record.registration) {
      observer.noteAgent('outlived', before.record);
      return false;
    }
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
