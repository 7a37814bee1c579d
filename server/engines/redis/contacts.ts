/**
 * Contacts of agents. After this process has noted a contact of an agent in Redis, it makes fewer notes on
 * this agent for a quarter of a second:
 *
 *   a call                 only reads the agent's record, or with `mayBeLate` nothing
 *   a push that was taken  with `mayBeLate` and the outcome noted last: one note for all such pushes when the
 *                          quarter of a second is over
 *   any other push         is noted at once
 *
 * For example, an agent takes 50 pushes within 200 ms: the first is noted at once, the other 49 together, at
 * most 250 ms later. The late note overwrites the agent's last push, even if another process has noted a
 * failure meanwhile. It is dropped if this process notes another outcome before, and is not repeated if it
 * fails, because contacts may be forgotten.
 */
import type { AgentRecord } from '../../domain/agent.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Touch } from '../../ports/store.ts';
import type { Reply } from './client/client.ts';
import type { Connection } from './connection/connection.ts';
import type { AgentStatuses } from './reads/agent-status.ts';
import type { Values } from './reads/values.ts';
import { CONTACT_GRAIN_MS, scripts } from './scripts.ts';

export type Contacts = {
  /** The port's `touch`. */
  touch(agent_id: string, touch: Touch): Promise<AgentRecord | undefined>;
  /** Makes all late notes now. */
  flush(): Promise<void>;
};

type Noted = {
  readonly contactMs: number;
  /**
   * Undefined if the agent is offline: its next contact brings it back, so that contact must be noted at
   * once.
   */
  readonly lateRecord: AgentRecord | undefined;
};

type Deps = {
  readonly connection: Pick<Connection, 'call' | 'requireUp'>;
  readonly values: Pick<Values, 'read'>;
  readonly statuses: AgentStatuses;
  readonly clock: Pick<Clock, 'sleep'>;
  nowMs(): number;
};

/** `nowMs` returns store time. */
export function createContacts(deps: Deps): Contacts {
  const { connection, values, statuses, nowMs } = deps;
  const recent = createRecentNotes(nowMs);
  const laterPushes = createLaterPushes(deps.clock, note);

  async function note(agent_id: string, encoded: EncodedTouch): Promise<AgentRecord | undefined> {
    const [contactMs, value, revision] = (await connection.call(scripts.touch, [
      agent_id,
      ...encoded,
    ])) as readonly Reply[];
    const record = statuses.parseRecord(agent_id, value, revision);
    const lateRecord = record?.offlineMs === null ? record : undefined;
    if (contactMs) recent.add(agent_id, { contactMs: Number(contactMs), lateRecord });
    return record;
  }

  return {
    async touch(agent_id, touch) {
      connection.requireUp();
      const noted = recent.find(agent_id);
      const late = touch.by !== 'beat' && touch.mayBeLate ? noted?.lateRecord : undefined;
      const encoded = encodeTouch(touch);
      if (touch.by === 'push') {
        if (late && touch.taken && laterPushes.join(agent_id, encoded)) return late;
        laterPushes.begin(agent_id, touch.taken ? encoded : undefined);
      }
      if (touch.by === 'call' && noted) {
        if (late) return late;
        const found = await values.read('agent', agent_id);
        return statuses.parseRecord(agent_id, found?.json, found?.revision);
      }
      return await note(agent_id, encoded);
    },
    flush: laterPushes.flush,
  };
}

/** The last note on each agent. Notes older than `CONTACT_GRAIN_MS` are not found, and are dropped later. */
function createRecentNotes(nowMs: () => number) {
  const notes = new Map<string, Noted>();
  let sinceMs = 0;
  return {
    add(agent_id: string, noted: Noted): void {
      if (nowMs() - sinceMs >= CONTACT_GRAIN_MS) {
        notes.clear();
        sinceMs = nowMs();
      }
      notes.set(agent_id, noted);
    },
    find(agent_id: string): Noted | undefined {
      const noted = notes.get(agent_id);
      const agoMs = nowMs() - (noted?.contactMs ?? Number.NEGATIVE_INFINITY);
      return agoMs >= 0 && agoMs < CONTACT_GRAIN_MS ? noted : undefined;
    },
  };
}

/** The arguments of the script `touch` after the agent's id. */
type EncodedTouch = readonly [by: Touch['by'], isContact: string, outcome: string];

/**
 * Late notes on taken pushes with the same outcome as the noted one. One timer serves all agents. At each end
 * of the timer, at most one note is made for each agent.
 */
function createLaterPushes(
  clock: Pick<Clock, 'sleep'>,
  note: (agent_id: string, encoded: EncodedTouch) => Promise<unknown>,
) {
  /** By agent: what was noted last, and whether to note it again. */
  const pushes = new Map<string, { readonly encoded: EncodedTouch; isAgain: boolean }>();
  let isTiming = false;

  async function flush(): Promise<void> {
    const notes: Promise<unknown>[] = [];
    for (const [agent_id, push] of pushes) {
      if (push.isAgain) notes.push(note(agent_id, push.encoded));
      else pushes.delete(agent_id);
      push.isAgain = false;
    }
    await Promise.allSettled(notes);
  }

  /** Runs the timer while there are such pushes. */
  async function time(): Promise<void> {
    isTiming = true;
    while (pushes.size > 0) {
      await clock.sleep(CONTACT_GRAIN_MS);
      void flush();
    }
    isTiming = false;
  }

  return {
    flush,
    /** Lets the push be noted later, or returns false if it must be noted now. */
    join(agent_id: string, encoded: EncodedTouch): boolean {
      const [, , outcome] = encoded;
      const last = pushes.get(agent_id);
      if (last?.encoded[2] !== outcome) return false;
      last.isAgain = true;
      return true;
    },
    /**
     * To be called when a push is noted now. If the push was taken, later pushes with the same outcome may
     * join it.
     */
    begin(agent_id: string, encoded: EncodedTouch | undefined): void {
      pushes.delete(agent_id);
      if (!encoded) return;
      pushes.set(agent_id, { encoded, isAgain: false });
      if (!isTiming) void time();
    },
  };
}

function encodeTouch(touch: Touch): EncodedTouch {
  if (touch.by !== 'push') return [touch.by, '', ''];
  const { taken, busy, status, error } = touch;
  return ['push', taken || busy ? '1' : '0', JSON.stringify({ taken, status, error })];
}
