/**
 * The agents' contacts and last grants, in memory: they survive an outage of the storage, but not the end of
 * the process. After a pause in sweeping, no contact counts as older than the end of the pause, because no
 * agent could have a contact during the pause.
 */
import type { Contact } from '../domain/agent.ts';
import { STORE_LIMITS } from '../ports/limits.ts';
import type { Touch } from '../ports/store.ts';

type AgentContact = Contact & {
  readonly lastGrantMs: number;
  /** When the agent last registered; null if this process has not seen that. */
  readonly registeredMs: number | null;
};

export type Contacts = {
  noteSweep(nowMs: number): void;
  noteTouch(agent_id: string, touch: Touch, nowMs: number): void;
  noteRegistration(agent_id: string, nowMs: number): void;
  noteGrant(agent_id: string, nowMs: number): void;
  contactOf(agent_id: string): Contact;
  lastGrantMs(agent_id: string): number;
  forget(agent_id: string): void;
};

const NO_CONTACT: AgentContact = {
  contactMs: 0,
  beatMs: null,
  beatGapMs: null,
  push: null,
  unreachedSinceMs: null,
  lastGrantMs: 0,
  registeredMs: null,
};

/** Creates an empty set. No contact counts as older than `startMs`. */
export function createContacts(startMs: number): Contacts {
  const contacts = new Map<string, AgentContact>();
  let resumedMs = startMs;
  let lastSweepMs = Number.NEGATIVE_INFINITY;
  const find = (agent_id: string): AgentContact => contacts.get(agent_id) ?? NO_CONTACT;

  return {
    // The same rule as in `gateway/dispatch/sweep-times.ts`. That file notes the sweeps of one process, this
    // one all sweeps.
    noteSweep(nowMs) {
      if (nowMs - lastSweepMs > STORE_LIMITS.sweepGapMs) resumedMs = nowMs;
      lastSweepMs = nowMs;
    },
    noteTouch: (agent_id, touch, nowMs) =>
      void contacts.set(agent_id, applyTouch(find(agent_id), touch, nowMs, resumedMs)),
    noteRegistration(agent_id, nowMs) {
      const fresh = { contactMs: nowMs, registeredMs: nowMs, push: null, unreachedSinceMs: null };
      contacts.set(agent_id, { ...find(agent_id), ...fresh });
    },
    noteGrant: (agent_id, nowMs) => void contacts.set(agent_id, { ...find(agent_id), lastGrantMs: nowMs }),
    contactOf(agent_id) {
      const { contactMs, beatMs, beatGapMs, push, unreachedSinceMs } = find(agent_id);
      return { contactMs: Math.max(contactMs, resumedMs), beatMs, beatGapMs, push, unreachedSinceMs };
    },
    lastGrantMs: (agent_id) => find(agent_id).lastGrantMs,
    forget: (agent_id) => void contacts.delete(agent_id),
  };
}

function applyTouch(before: AgentContact, touch: Touch, nowMs: number, resumedMs: number): AgentContact {
  switch (touch.by) {
    case 'call':
      return { ...before, contactMs: nowMs };
    case 'beat': {
      const { beatMs, registeredMs } = before;
      const isFirstKnown = beatMs === null && registeredMs === null;
      const sinceMs = Math.max(beatMs ?? 0, registeredMs ?? 0, resumedMs);
      return { ...before, contactMs: nowMs, beatMs: nowMs, beatGapMs: isFirstKnown ? null : nowMs - sinceMs };
    }
    case 'push': {
      const { taken, busy, status, error } = touch;
      const push = { taken, status, error };
      if (taken || busy) return { ...before, contactMs: nowMs, push, unreachedSinceMs: null };
      return { ...before, push, unreachedSinceMs: before.unreachedSinceMs ?? nowMs };
    }
  }
}
