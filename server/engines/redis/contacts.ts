/**
 * Contacts of agents: those of one turn are noted together, and a call of an agent whose last contact was
 * noted less than a quarter of a second ago only reads its record.
 */
import type { AgentRecord } from '../../domain/agent.ts';
import type { Touch } from '../../ports/store.ts';
import type { AgentStatuses } from './agent-status.ts';
import type { Reply } from './client.ts';
import type { Connection } from './connection.ts';
import { scripts } from './scripts.ts';
import { createTurnCalls } from './turn-calls.ts';
import type { Values } from './values.ts';

/** A contact is exact to this. */
const CONTACT_GRAIN_MS = 250;

export type Contacts = {
  /** The port's `touch`. */
  touch(agent_id: string, touch: Touch): Promise<AgentRecord | undefined>;
};

/** Creates it; `nowMs` is the store's time. */
export function createContacts(deps: {
  readonly connection: Pick<Connection, 'call' | 'requireUp'>;
  readonly values: Pick<Values, 'read'>;
  readonly statuses: AgentStatuses;
  nowMs(): number;
}): Contacts {
  const { connection, values, statuses, nowMs } = deps;
  const turn = createTurnCalls(
    async (args) => (await connection.call(scripts.touches, args)) as readonly Reply[],
  );
  /** By agent: the last contact that was noted. None is older than the grain when another is added. */
  const recent = new Map<string, number>();
  let recentSinceMs = 0;

  function noteRecent(agent_id: string, contactMs: number): void {
    if (nowMs() - recentSinceMs >= CONTACT_GRAIN_MS) {
      recent.clear();
      recentSinceMs = nowMs();
    }
    recent.set(agent_id, contactMs);
  }

  function isRecent(agent_id: string): boolean {
    const sinceMs = nowMs() - (recent.get(agent_id) ?? Number.NEGATIVE_INFINITY);
    return sinceMs >= 0 && sinceMs < CONTACT_GRAIN_MS;
  }

  return {
    async touch(agent_id, touch) {
      connection.requireUp();
      if (touch.by === 'call' && isRecent(agent_id)) {
        const [value, revision] = await values.read('agent', agent_id);
        return statuses.parseRecord(agent_id, value, revision);
      }
      const [contactMs, value, revision] = (await turn.run([
        agent_id,
        ...encodeTouch(touch),
      ])) as readonly Reply[];
      if (contactMs) noteRecent(agent_id, Number(contactMs));
      return statuses.parseRecord(agent_id, value, revision);
    },
  };
}

function encodeTouch(touch: Touch): readonly string[] {
  if (touch.by !== 'push') return [touch.by, '', ''];
  const { taken, busy, status, error } = touch;
  return ['push', taken || busy ? '1' : '0', JSON.stringify({ taken, status, error })];
}
