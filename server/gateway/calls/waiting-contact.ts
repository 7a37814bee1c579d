/** Notes the contact of an agent while its call waits for a task or an answer. */
import type { AgentRecord } from '../../domain/agent.ts';
import type { Clock } from '../../ports/clock.ts';
import type { RegisteredAgents } from '../agents/registered-agents.ts';

/** The usual interval between two notes. Agents with a short `lost_after` need a shorter one. */
const NOTE_EVERY_MS = 10_000;
const NOTES_WITHIN_LOST_AFTER = 3;
/** The shortest interval: the store does not note contacts more often. */
const NOTE_EVERY_MS_MIN = 250;

/**
 * Runs the waiting part of an agent's call. The call is contact as long as it waits: contacts are noted again
 * and again, so that each replica's sweeper knows of them, and once more at the end. If the caller leaves,
 * the signal fires and that end is no contact. Costs one touch of the store every 10 s.
 */
export async function noteContactWhile<T>(
  { agents, clock }: { readonly agents: RegisteredAgents; readonly clock: Clock },
  { agent_id, lostAfterMs }: AgentRecord,
  signal: AbortSignal,
  wait: () => Promise<T>,
): Promise<T> {
  const over = new AbortController();
  const neededMs = (lostAfterMs ?? Number.POSITIVE_INFINITY) / NOTES_WITHIN_LOST_AFTER;
  const everyMs = Math.max(NOTE_EVERY_MS_MIN, Math.min(NOTE_EVERY_MS, neededMs));
  // The waiting call itself reports an outage of the store.
  const note = () => agents.noteContactIfRegistered(agent_id, { by: 'call' }).catch(() => undefined);
  const noteRepeatedly = async (): Promise<void> => {
    while (!over.signal.aborted) {
      await clock.sleep(everyMs, over.signal);
      if (!over.signal.aborted) await note();
    }
  };
  void noteRepeatedly();
  try {
    return await wait();
  } finally {
    over.abort('over');
    if (!signal.aborted) await note();
  }
}
