/**
 * In which steps of 15 s each agent had contact during the last 10 minutes, as far as this process has seen:
 * two rows of 40 bits for each agent, in memory alone. Noting a contact costs one lookup.
 */
import { createBoundedMap } from '../../async/bounded-map.ts';
import type { AgentActivity } from '../../ports/admin.ts';
import type { Touch } from '../../ports/store.ts';

const STEP_MS = 15_000;
const STEPS = 40;
/**
 * How many agents are remembered. Beyond this, the agent without contact or push for longest is forgotten.
 */
const AGENTS_MAX = 20_000;

export type ContactStrips = {
  noteTouch(agent_id: string, touch: Touch, nowMs: number): void;
  /** Notes a contact that is no touch, such as a registration. */
  noteContact(agent_id: string, nowMs: number): void;
  describe(agent_id: string, nowMs: number): AgentActivity;
};

/** One bit for each step; the lowest bit is the last step. Below 2^40, so that a double holds it exactly. */
type Strip = { step: number; contact: number; failed: number };

export function createContactStrips(): ContactStrips {
  const strips = createBoundedMap<string, Strip>(AGENTS_MAX);

  function find(agent_id: string, step: number): Strip {
    const strip = strips.get(agent_id) ?? { step, contact: 0, failed: 0 };
    move(strip, step);
    strips.set(agent_id, strip);
    return strip;
  }

  function noteContact(agent_id: string, nowMs: number): void {
    const strip = find(agent_id, toStep(nowMs));
    if (strip.contact % 2 === 0) strip.contact += 1;
  }

  return {
    noteContact,
    noteTouch(agent_id, touch, nowMs) {
      if (touch.by !== 'push' || touch.taken || touch.busy) {
        noteContact(agent_id, nowMs);
        return;
      }
      const strip = find(agent_id, toStep(nowMs));
      if (strip.failed % 2 === 0) strip.failed += 1;
    },
    describe(agent_id, nowMs) {
      const step = toStep(nowMs);
      const strip = { ...(strips.get(agent_id) ?? { step, contact: 0, failed: 0 }) };
      move(strip, step);
      return {
        step: STEP_MS / 1_000,
        to: ((step + 1) * STEP_MS) / 1_000,
        contact: writeBits(strip.contact),
        push_failed: writeBits(strip.failed),
      };
    },
  };
}

function toStep(nowMs: number): number {
  return Math.floor(nowMs / STEP_MS);
}

/** Moves the bits to make room for the steps that have begun since. */
function move(strip: Strip, step: number): void {
  const passed = step - strip.step;
  if (passed <= 0) return;
  strip.contact = shift(strip.contact, passed);
  strip.failed = shift(strip.failed, passed);
  strip.step = step;
}

/** Multiplying by a power of two is exact. Bits above the 40th are the oldest, and are dropped. */
function shift(bits: number, steps: number): number {
  return steps >= STEPS ? 0 : (bits * 2 ** steps) % 2 ** STEPS;
}

function writeBits(bits: number): string {
  return bits.toString(2).padStart(STEPS, '0');
}
