/** When agents had contact: whose strips are kept when there are more of them than may be. */
import { describe, expect, test } from 'vitest';
import { type ContactStrips, createContactStrips } from '../../server/gateway/agents/contact-strips.ts';
import { noteTouches } from '../../server/gateway/agents/seen.ts';
import { createFakeClock } from '../harness/fake-clock.ts';
import { openPlainStore } from '../harness/stores.ts';
import { buildRegistration, createWorld } from '../harness/world.ts';

/** As many as are kept. */
const KEPT = 20_000;
const NOW_MS = 1_000_000;

const hasContact = (strips: ContactStrips, agent_id: string, nowMs = NOW_MS): boolean =>
  strips.describe(agent_id, nowMs).contact.includes('1');

describe('the contact strips', () => {
  test('are those of the agents that had a contact last, not of those that came last', () => {
    const strips = createContactStrips();
    for (let n = 0; n < KEPT; n += 1) strips.noteContact(`agent-${n}`, NOW_MS);
    strips.noteTouch('agent-0', { by: 'beat' }, NOW_MS);
    strips.noteContact('another', NOW_MS);
    expect(['agent-0', 'agent-1', 'agent-2', 'another'].map((id) => hasContact(strips, id))).toEqual([
      true,
      false,
      true,
      true,
    ]);
  });

  test('stay, however many agents that do not exist are named in heartbeats', async () => {
    const strips = createContactStrips();
    const clock = createFakeClock();
    const store = noteTouches(openPlainStore(clock), strips);
    const { gateway } = createWorld(store, { clock });
    await gateway.registerAgent(buildRegistration('real'));
    await gateway.heartbeatAgent({ agent_id: 'real' });
    for (let n = 0; n < KEPT; n += 1) await store.touch(`unknown-${n}`, { by: 'beat' });
    await expect(gateway.heartbeatAgent({ agent_id: 'unknown-0' })).rejects.toThrow('No agent is registered');
    expect(hasContact(strips, 'unknown-0', store.nowMs())).toBe(false);
    expect(hasContact(strips, 'real', store.nowMs())).toBe(true);
  });
});
