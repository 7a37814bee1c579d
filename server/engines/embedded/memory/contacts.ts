/**
 * What is known of the agents' contacts and last grants. None of it is durable; it outlives a rebuild of the image,
 * not the process. No contact is taken as older than the moment sweeping resumed after a pause, because in a pause
 * nobody was there to be contacted.
 */
import type { Contact } from '../../../domain/agent.ts';
import type { Touch } from '../../../ports/store.ts';

/** Without a sweep for longer than this, time does not count against the agents. */
const SWEEP_GAP_MS = 5_000;

type AgentContact = Omit<Contact, 'contactMs'> & { readonly contactMs: number; readonly lastGrantMs: number };

export type Contacts = {
  /** Notes that somebody sweeps now. */
  noteSweep(nowMs: number): void;
  noteTouch(agent_id: string, touch: Touch, nowMs: number): void;
  noteGrant(agent_id: string, nowMs: number): void;
  contactOf(agent_id: string): Contact;
  lastGrantMs(agent_id: string): number;
  forget(agent_id: string): void;
};

const UNKNOWN: AgentContact = { contactMs: 0, beatMs: null, beatGapMs: null, push: null, lastGrantMs: 0 };

/** Creates it empty: so far nobody swept, and no contact counts as older than now. */
export function createContacts(startMs: number): Contacts {
  const agents = new Map<string, AgentContact>();
  let resumedMs = startMs;
  let sweptMs = Number.NEGATIVE_INFINITY;
  const known = (agent_id: string): AgentContact => agents.get(agent_id) ?? UNKNOWN;

  return {
    noteSweep(nowMs) {
      if (nowMs - sweptMs > SWEEP_GAP_MS) resumedMs = nowMs;
      sweptMs = nowMs;
    },
    noteTouch: (agent_id, touch, nowMs) =>
      void agents.set(agent_id, applyTouch(known(agent_id), touch, nowMs)),
    noteGrant: (agent_id, nowMs) => void agents.set(agent_id, { ...known(agent_id), lastGrantMs: nowMs }),
    contactOf(agent_id) {
      const { contactMs, beatMs, beatGapMs, push } = known(agent_id);
      return { contactMs: Math.max(contactMs, resumedMs), beatMs, beatGapMs, push };
    },
    lastGrantMs: (agent_id) => known(agent_id).lastGrantMs,
    forget: (agent_id) => void agents.delete(agent_id),
  };
}

function applyTouch(known: AgentContact, touch: Touch, nowMs: number): AgentContact {
  switch (touch.by) {
    case 'call':
      return { ...known, contactMs: nowMs };
    case 'register':
      return { ...known, contactMs: nowMs, push: null };
    case 'beat': {
      const beatGapMs = known.beatMs === null ? null : nowMs - known.beatMs;
      return { ...known, contactMs: nowMs, beatMs: nowMs, beatGapMs };
    }
    case 'push': {
      const { taken, status, error } = touch;
      const contactMs = taken ? nowMs : known.contactMs;
      return { ...known, contactMs, push: { taken, status, error } };
    }
  }
}
