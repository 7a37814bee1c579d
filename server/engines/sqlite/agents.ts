/**
 * The agents as the writer keeps them: records, slots, and for each tag the agents with a free slot. A commit
 * reads the row of an agent once, and saves the changes at its end.
 */
import type { AgentCall, SlotCall } from './calls.ts';
import type { Counters } from './counters.ts';
import type { DueEntries } from './due-entries.ts';
import type { Entries } from './entries.ts';
import { type Prepare, parseOr } from './statements.ts';
import type { Values } from './values.ts';

/** An agent during a commit. `before`: as it was before the commit. */
type Agent = {
  registration: string;
  slotsMax: number;
  used: number;
  /** Undefined until the tags are needed: then they are read from the record. */
  tags: readonly string[] | undefined;
  isWritten: boolean;
  readonly before: { readonly registration: string | null; readonly free: number; readonly used: number };
};

type AgentsOfCommit = {
  /** Whether all grants and releases can be made, in their order. */
  areGrantable(changes: readonly SlotCall[]): boolean;
  write(call: AgentCall, revision: string): void;
  /**
   * Applies the changes. Returns the indexes of grants that changed nothing, because the task held the slot
   * already.
   */
  change(changes: readonly SlotCall[]): readonly number[];
  /** Saves the changed agents. Returns whether an agent became due because a task waits for it. */
  save(nowMs: number): boolean;
};

export type Agents = {
  /** By how much these writes change the number of agents. */
  countAdded(calls: readonly AgentCall[]): number;
  /** Finds an agent with one of these tags and a free slot. */
  findFree(tags: readonly string[]): string | undefined;
  begin(): AgentsOfCommit;
};

type Deps = {
  readonly prepare: Prepare;
  readonly counters: Counters;
  readonly entries: Entries;
  readonly dueEntries: DueEntries;
  readonly values: Values;
};

type Statements = ReturnType<typeof prepareAgents>;

function prepareAgents(prepare: Prepare) {
  return {
    select: prepare('SELECT registration, slots_max, used FROM agent WHERE id = ?'),
    put: prepare(
      'INSERT INTO agent VALUES (?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET registration = excluded.registration, ' +
        'slots_max = excluded.slots_max, used = excluded.used',
    ),
    setUsed: prepare('UPDATE agent SET used = ? WHERE id = ?'),
    drop: prepare('DELETE FROM agent WHERE id = ?'),
    countSlots: prepare('SELECT count(*) FROM slot WHERE agent = ?'),
    findSlot: prepare('SELECT 1 FROM slot WHERE agent = ? AND task = ?'),
    addSlot: prepare('INSERT INTO slot VALUES (?, ?, ?)'),
    dropSlot: prepare('DELETE FROM slot WHERE agent = ? AND task = ?'),
    firstFree: prepare('SELECT agent FROM free_tag WHERE tag = ? LIMIT 1'),
    addFree: prepare('INSERT INTO free_tag VALUES (?, ?) ON CONFLICT DO NOTHING'),
    dropFree: prepare('DELETE FROM free_tag WHERE agent = ?'),
  };
}

export function createAgents(deps: Deps): Agents {
  const statements = prepareAgents(deps.prepare);
  const { select, firstFree } = statements;
  return {
    countAdded(calls) {
      let added = 0;
      for (const { id, record } of calls)
        added += Number(record !== null) - Number(select.get(id) !== undefined);
      return added;
    },
    findFree(tags) {
      for (const tag of tags) {
        const found = firstFree.get(tag);
        if (found) return String(found[0]);
      }
      return undefined;
    },
    begin: () => beginCommit(deps, statements),
  };
}

function beginCommit(deps: Deps, statements: Statements): AgentsOfCommit {
  const { counters, values } = deps;
  const { select, findSlot, addSlot, dropSlot, countSlots, drop, dropFree } = statements;
  const agents = new Map<string, Agent>();
  let isAnyHeld = false;

  function look(id: string): Agent | undefined {
    const known = agents.get(id);
    if (known) return known;
    const row = select.get(id);
    if (!row) return undefined;
    const [registration, slotsMax, used] = row as [string, number, number];
    const before = { registration, free: Math.max(0, slotsMax - used), used };
    const agent: Agent = { registration, slotsMax, used, tags: undefined, isWritten: false, before };
    agents.set(id, agent);
    return agent;
  }

  return {
    areGrantable(changes) {
      const taken = new Map<string, number>();
      for (const { agent: id, task, registration } of changes) {
        const agent = look(id);
        const more = taken.get(id) ?? 0;
        // A single release needs no look: there is no grant that could use its room.
        if (registration === null && changes.length === 1) continue;
        if (registration !== null && agent?.registration !== registration) return false;
        const isHeld = findSlot.get(id, task) !== undefined;
        if (isHeld) isAnyHeld = true;
        if (registration === null) taken.set(id, more - Number(isHeld));
        else if (!isHeld && agent && agent.used + more >= agent.slotsMax) return false;
        else taken.set(id, more + Number(!isHeld));
      }
      return true;
    },
    write({ id, record }, revision) {
      const known = look(id);
      if (!record) {
        agents.delete(id);
        drop.run(id);
        dropFree.run(id);
        values.remove('agent', id);
        if (known) counters.add('agents', -1);
        return;
      }
      const { json, registration, slotsMax, tags } = record;
      const used = known?.used ?? Number(countSlots.get(id)?.[0]);
      values.put('agent', id, { revision, json });
      if (!known) counters.add('agents', 1);
      const before = known?.before ?? { registration: null, free: 0, used };
      agents.set(id, { registration, slotsMax, used, tags, isWritten: true, before });
    },
    change(changes) {
      const held: number[] = [];
      for (const [index, { agent: id, task, registration }] of changes.entries()) {
        const agent = look(id);
        if (registration === null) {
          if (dropSlot.run(id, task) > 0 && agent) agent.used -= 1;
        } else if (isAnyHeld && findSlot.get(id, task)) held.push(index);
        else {
          addSlot.run(id, task, counters.add('grants', 1));
          if (agent) agent.used += 1;
        }
      }
      return held;
    },
    save(nowMs) {
      let isAnyDue = false;
      for (const [id, agent] of agents) isAnyDue = saveAgent(deps, statements, id, agent, nowMs) || isAnyDue;
      return isAnyDue;
    },
  };
}

/**
 * Saves an agent at the end of a commit. Returns whether the agent became due because a task waits for it.
 */
function saveAgent(
  { counters, entries, dueEntries, values }: Deps,
  { put, setUsed, addFree, dropFree }: Statements,
  id: string,
  agent: Agent,
  nowMs: number,
): boolean {
  const { registration, slotsMax, used, isWritten, before } = agent;
  if (isWritten) put.run(id, registration, slotsMax, used);
  else if (used !== before.used) setUsed.run(used, id);
  const free = Math.max(0, slotsMax - used);
  const isMoved = isWritten || free > 0 !== before.free > 0;
  const mayTakeMore = free > before.free || (free > 0 && registration !== before.registration);
  const isAsked = mayTakeMore && counters.get('waiting') > 0;
  if (!isMoved && !isAsked) return false;
  const tags = agent.tags ?? readTags(values, id);
  if (isMoved) {
    dropFree.run(id);
    if (free > 0) for (const tag of tags) addFree.run(tag, id);
  }
  if (!isAsked || !entries.isWaitedFor(tags)) return false;
  dueEntries.makeDue(id, nowMs);
  return true;
}

function readTags(values: Values, id: string): readonly string[] {
  return parseOr({ agent_tags: [] }, values.readJson('agent', id)).agent_tags;
}
