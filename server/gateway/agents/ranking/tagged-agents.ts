/**
 * The agents of this process's copy, by their tags. Each tag keeps its agents in three sets, and each agent
 * is in one of them. A look begins with the rarest tag and ends after some agents. In each set, agents whose
 * last grant is longest ago come first.
 *
 *   taking    it has a free slot and took its last push
 *   untaken   it has a free slot and did not take its last push
 *   rest      it has no free slot
 *
 * The memory of all agents is estimated, rather too high than too low, because each gateway loads all agents
 * before it serves. Equal tags of different agents are one string.
 */
import type { AgentRecord } from '../../../domain/agent.ts';
import { type Candidate, isFree } from '../../../domain/match.ts';
import { type FoldedTag, foldTag } from './similar-tags.ts';
import { type Counts, changeCounts, createCounts } from './tag-supply.ts';

export type Freedom = 'taking' | 'untaken' | 'rest';
/** The freedoms in the order in which a task looks for agents. */
export const FREEDOMS: readonly Freedom[] = ['taking', 'untaken', 'rest'];

export type IndexedTag = FoldedTag & { readonly counts: Readonly<Counts> };

/** An agent, and how many of the tags it shares. */
export type Sharing = { readonly candidate: Candidate; readonly shared: number };

/** The number of the last look that saw this tag or agent. */
type Marked = { mark: number };
type Tag = Marked &
  FoldedTag & {
    readonly counts: Counts;
    readonly agents: Readonly<Record<Freedom, Set<Agent>>>;
  };
type Agent = Marked & { readonly tags: readonly Tag[]; candidate: Candidate; freedom: Freedom };

/** The fields of an agent that the memory estimate counts. */
type Named = Pick<AgentRecord, 'agent_id' | 'endpoint' | 'agent_tags'>;

export type TaggedAgents = {
  get(agent_id: string): Candidate | undefined;
  put(candidate: Candidate): void;
  remove(agent_id: string): void;
  /** Includes unregistered agents. */
  ids(): Iterable<string>;
  listRegistered(): readonly Candidate[];
  readonly counts: Readonly<Counts>;
  find(tag: string): IndexedTag | undefined;
  tags(): Iterable<IndexedTag>;
  /** Finds agents that share a tag, at most `max` of each freedom. Agents with the rarest tags come first. */
  look(names: readonly string[], freedoms: readonly Freedom[], max: number): readonly Sharing[];
  /**
   * Counts the agents that have one of the tags. Agents with the most common tag are counted exactly. Of the
   * other agents at most 20,000 are looked at, so with more of them the counts are too low.
   */
  countSharing(names: readonly string[]): Readonly<Counts>;
  bytes(): number;
  /** How many more bytes would be used if this agent replaced its earlier registration. */
  estimateMore(agent: Named, before: Named | undefined): number;
};

const COUNTED_MAX = 20_000;
/** An agent without its texts: record, contact, due entry, and its place in the index. */
const AGENT_BYTES = 2_304;
/** One tag of one agent, even if other agents have the tag too. */
const USE_BYTES = 96;
/** A tag without its text: its counts and its empty sets. */
const TAG_BYTES = 768;
const CHAR_BYTES = 2;

export function createTaggedAgents(): TaggedAgents {
  const agents = new Map<string, Agent>();
  const tags = createTags();
  const counts = createCounts();
  let agentBytes = 0;
  /** The list is built once, and kept until the next change. */
  let registered: readonly Candidate[] | undefined;

  /** Counts the change, and moves the agent to its set. After a grant the agent stands last in the set. */
  function replace(agent: Agent, before: Candidate | undefined, after: Candidate | undefined): void {
    const freedom = after && findFreedom(after);
    const isGranted = before && after && after.lastGrantMs > before.lastGrantMs;
    registered = undefined;
    changeCounts(counts, before, after);
    for (const tag of agent.tags) {
      changeCounts(tag.counts, before, after);
      if (before && freedom === agent.freedom && !isGranted) continue;
      tag.agents[agent.freedom].delete(agent);
      if (freedom) tag.agents[freedom].add(agent);
      else if (countAgents(tag) === 0) tags.drop(tag);
    }
    agent.freedom = freedom ?? agent.freedom;
    agent.candidate = after ?? agent.candidate;
  }

  function add(candidate: Candidate): void {
    const { record } = candidate;
    const own = [...new Set(record.agent_tags)].map(tags.open);
    const after = shareTags(
      candidate,
      own.map(({ tag }) => tag),
    );
    const agent: Agent = { candidate: after, tags: own, freedom: 'rest', mark: 0 };
    agents.set(record.agent_id, agent);
    agentBytes += estimateAgent(record);
    replace(agent, undefined, after);
  }

  function remove(agent: Agent): void {
    const { record } = agent.candidate;
    agents.delete(record.agent_id);
    agentBytes -= estimateAgent(record);
    replace(agent, agent.candidate, undefined);
  }

  return {
    get: (agent_id) => agents.get(agent_id)?.candidate,
    put(candidate) {
      const { agent_id, registration } = candidate.record;
      const known = agents.get(agent_id);
      // An agent's tags change only with its registration.
      if (known?.candidate.record.registration === registration) {
        const before = known.candidate;
        replace(known, before, shareTags(candidate, before.record.agent_tags));
        return;
      }
      if (known) remove(known);
      add(candidate);
    },
    remove(agent_id) {
      const agent = agents.get(agent_id);
      if (agent) remove(agent);
    },
    ids: () => agents.keys(),
    listRegistered() {
      registered ??= [...agents.values()]
        .map(({ candidate }) => candidate)
        .filter(({ record }) => record.unregisteredMs === null);
      return registered;
    },
    counts,
    find: tags.find,
    tags: tags.all,
    look(names, freedoms, max) {
      const { marked, mark } = tags.mark(names);
      return freedoms.flatMap((freedom) => lookAt(marked, freedom, max, mark));
    },
    countSharing(names) {
      const { marked, mark } = tags.mark(names);
      return countSharing(marked, mark, agents.size);
    },
    bytes: () => agentBytes + tags.bytes(),
    estimateMore(agent, before) {
      const own = new Set(agent.agent_tags);
      const added = [...own].filter((name) => !tags.find(name));
      const dropped = [...new Set(before?.agent_tags)].filter(
        (name) => !own.has(name) && countAgents(tags.find(name)) === 1,
      );
      const more = estimateAgent(agent) - (before ? estimateAgent(before) : 0);
      return more + estimateTags(added) - estimateTags(dropped);
    },
  };
}

function createTags() {
  const tags = new Map<string, Tag>();
  let chars = 0;
  let mark = 0;

  return {
    find: (name: string): Tag | undefined => tags.get(name),
    all: (): Iterable<Tag> => tags.values(),
    bytes: () => TAG_BYTES * tags.size + CHAR_BYTES * chars,
    open(name: string): Tag {
      const known = tags.get(name);
      if (known) return known;
      const agents = { taking: new Set<Agent>(), untaken: new Set<Agent>(), rest: new Set<Agent>() };
      const tag: Tag = { tag: name, text: foldTag(name), counts: createCounts(), agents, mark: 0 };
      tags.set(name, tag);
      chars += name.length;
      return tag;
    },
    drop({ tag }: Tag): void {
      tags.delete(tag);
      chars -= tag.length;
    },
    /** Finds the tags with these names, each once, and marks them with the number of a new look. */
    mark(names: readonly string[]): { readonly marked: readonly Tag[]; readonly mark: number } {
      mark += 1;
      const marked: Tag[] = [];
      for (const name of names) {
        const tag = tags.get(name);
        if (!tag || tag.mark === mark) continue;
        tag.mark = mark;
        marked.push(tag);
      }
      return { marked, mark };
    },
  };
}

/** Counts the agents with one of the marked tags. `total` is the number of all agents. */
function countSharing(marked: readonly Tag[], mark: number, total: number): Counts {
  const [first, ...others] = marked.toSorted((a, b) => countAgents(b) - countAgents(a));
  const sum = { ...(first?.counts ?? createCounts()) };
  if (!first || countAgents(first) === total) return sum;
  let left = COUNTED_MAX;
  for (const agent of listAgents(others.reverse())) {
    if (left === 0) break;
    left -= 1;
    if (agent.mark !== mark && !agent.tags.includes(first)) changeCounts(sum, undefined, agent.candidate);
    agent.mark = mark;
  }
  return sum;
}

/** Replaces the agent's tags by these equal strings, so that equal tags take memory once. */
function shareTags(candidate: Candidate, agent_tags: readonly string[]): Candidate {
  if (candidate.record.agent_tags === agent_tags) return candidate;
  return { ...candidate, record: { ...candidate.record, agent_tags } };
}

function findFreedom(candidate: Candidate): Freedom {
  if (!isFree(candidate)) return 'rest';
  return candidate.lastPushUntaken ? 'untaken' : 'taking';
}

function countAgents(tag: Tag | undefined): number {
  return tag ? FREEDOMS.reduce((sum, freedom) => sum + tag.agents[freedom].size, 0) : 0;
}

function* listAgents(tags: readonly Tag[]): Generator<Agent> {
  for (const { agents } of tags) for (const freedom of FREEDOMS) yield* agents[freedom];
}

/** Finds agents with this freedom and one of the marked tags, at most `max`. */
function lookAt(wanted: readonly Tag[], freedom: Freedom, max: number, mark: number): readonly Sharing[] {
  const found: Sharing[] = [];
  const rarest = wanted.toSorted((a, b) => a.agents[freedom].size - b.agents[freedom].size);
  for (const { agents } of rarest) {
    for (const agent of agents[freedom]) {
      if (agent.mark === mark) continue;
      agent.mark = mark;
      found.push({ candidate: agent.candidate, shared: countMarked(agent.tags, mark) });
      if (found.length === max) return found;
    }
  }
  return found;
}

function countMarked(tags: readonly Marked[], mark: number): number {
  let count = 0;
  for (const tag of tags) if (tag.mark === mark) count += 1;
  return count;
}

function estimateAgent({ agent_id, endpoint, agent_tags }: Named): number {
  return AGENT_BYTES + USE_BYTES * agent_tags.length + CHAR_BYTES * (agent_id.length + endpoint.length);
}

function estimateTags(names: readonly string[]): number {
  return names.reduce((sum, { length }) => sum + TAG_BYTES + CHAR_BYTES * length, 0);
}
