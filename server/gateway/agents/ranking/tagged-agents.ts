/**
 * The agents of this process's copy by their tags. Each tag has its agents in three sets, of which an agent
 * is in one. A look begins with the rarest tag and ends after some agents; in each set those come first
 * whose last grant is longest ago.
 *
 *   taking    it has a free slot and took its last push
 *   untaken   it has a free slot and did not take its last push
 *   rest      it has no free slot
 *
 * The memory of all of them is estimated from above: each gateway loads all agents at its start, before it
 * serves. Equal tags of all agents are one string.
 */
import type { AgentRecord } from '../../../domain/agent.ts';
import { type Candidate, isFree } from '../../../domain/match.ts';
import { type FoldedTag, foldTag } from './similar-tags.ts';
import { type Counts, changeCounts, createCounts } from './tag-supply.ts';

export type Freedom = 'taking' | 'untaken' | 'rest';
/** A task goes to the first of them. */
export const FREEDOMS: readonly Freedom[] = ['taking', 'untaken', 'rest'];

/** A tag that an agent has. */
export type IndexedTag = FoldedTag & { readonly counts: Readonly<Counts> };

/** An agent, and how many of the tags it shares. */
export type Sharing = { readonly candidate: Candidate; readonly shared: number };

/** The look under way puts its number on each tag and agent that it has seen. */
type Marked = { mark: number };
type Tag = Marked &
  FoldedTag & {
    readonly counts: Counts;
    readonly agents: Readonly<Record<Freedom, Set<Agent>>>;
  };
type Agent = Marked & { readonly tags: readonly Tag[]; candidate: Candidate; freedom: Freedom };

/** The part of an agent that the estimate of memory counts. */
type Named = Pick<AgentRecord, 'agent_id' | 'endpoint' | 'agent_tags'>;

export type TaggedAgents = {
  get(agent_id: string): Candidate | undefined;
  put(candidate: Candidate): void;
  remove(agent_id: string): void;
  /** The ids of all agents, unregistered ones included. */
  ids(): Iterable<string>;
  listRegistered(): readonly Candidate[];
  /** The counts of all agents. */
  readonly counts: Readonly<Counts>;
  /** The tag, if agents have it. */
  find(tag: string): IndexedTag | undefined;
  /** All tags of agents. */
  tags(): Iterable<IndexedTag>;
  /** Agents that share a tag, those of the rarest tags first: of each freedom at most this many. */
  look(names: readonly string[], freedoms: readonly Freedom[], max: number): readonly Sharing[];
  /**
   * The counts of the agents with one of the tags. Those with the most common tag are counted already; of
   * the others at most 20,000 are looked at, so that beyond these it is at least this much.
   */
  countSharing(names: readonly string[]): Readonly<Counts>;
  /** The memory that the agents take, in bytes. */
  bytes(): number;
  /** How many more bytes there would be with the agent in place of its earlier registration. */
  estimateMore(agent: Named, before: Named | undefined): number;
};

const COUNTED_MAX = 20_000;
/** An agent beside its texts: its record, contact, due entry, and its place in the index. */
const AGENT_BYTES = 2_304;
/** A tag of an agent, also if others have it too. */
const USE_BYTES = 96;
/** A tag that any agent has, beside its text: its counts, and its sets while they are empty. */
const TAG_BYTES = 768;
const CHAR_BYTES = 2;

export function createTaggedAgents(): TaggedAgents {
  const agents = new Map<string, Agent>();
  const tags = createTags();
  const counts = createCounts();
  let agentBytes = 0;
  /** Listed once for all that look before the next change. */
  let registered: readonly Candidate[] | undefined;

  /** Counts the agent, and moves it among the sets; when one of its slots was granted, behind the others. */
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
      // Tags change only with the registration.
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

/** The tags by their names. */
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
    /** The tags with these names, each once. They carry a new mark. */
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

/** `total`: how many agents there are, of which these tags have some. */
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

/** The same with these strings as its tags. */
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

/** The agents with this freedom and one of the marked tags. */
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
