/**
 * What is known of the agents' contacts and last grants. None of it is durable; it outlives a rebuild of the image,
 * not the process. No contact is taken as older than the moment sweeping resumed after a pause, because in a pause
 * nobody was there to be contacted.
 */
import type { Contact } from '../../domain/agent.ts';
import type { Touch } from '../../ports/store.ts';

/** Without a sweep for longer than this, time does not count against the agents. */
const SWEEP_GAP_MS = 5_000;

type Known = Omit<Contact, 'contactMs'> & { readonly contactMs: number; readonly lastGrantMs: number };

export type Presence = {
  /** Notes that somebody sweeps now. */
  noteSweep(nowMs: number): void;
  noteTouch(agentId: string, touch: Touch, nowMs: number): void;
  noteGrant(agentId: string, nowMs: number): void;
  contact(agentId: string): Contact;
  lastGrantMs(agentId: string): number;
  forget(agentId: string): void;
};

const UNKNOWN: Known = { contactMs: 0, beatMs: null, beatGapMs: null, push: null, lastGrantMs: 0 };

/** Creates it empty: so far nobody swept, and no contact counts as older than now. */
export function createPresence(startMs: number): Presence {
  const agents = new Map<string, Known>();
  let resumedMs = startMs;
  let sweptMs = Number.NEGATIVE_INFINITY;
  const known = (agentId: string): Known => agents.get(agentId) ?? UNKNOWN;

  return {
    noteSweep(nowMs) {
      if (nowMs - sweptMs > SWEEP_GAP_MS) resumedMs = nowMs;
      sweptMs = nowMs;
    },
    noteTouch: (agentId, touch, nowMs) => void agents.set(agentId, touchKnown(known(agentId), touch, nowMs)),
    noteGrant: (agentId, nowMs) => void agents.set(agentId, { ...known(agentId), lastGrantMs: nowMs }),
    contact(agentId) {
      const { contactMs, beatMs, beatGapMs, push } = known(agentId);
      return { contactMs: Math.max(contactMs, resumedMs), beatMs, beatGapMs, push };
    },
    lastGrantMs: (agentId) => known(agentId).lastGrantMs,
    forget: (agentId) => void agents.delete(agentId),
  };
}

function touchKnown(known: Known, touch: Touch, nowMs: number): Known {
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
