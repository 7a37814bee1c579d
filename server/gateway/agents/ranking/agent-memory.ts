/**
 * Estimates, from above, how much of this process's memory the agents take. Each gateway holds all agents,
 * and loads them at its start before it serves. Equal tags of all agents are one string.
 */
import { createSharedTexts } from '../../../async/shared-texts.ts';
import type { AgentRecord } from '../../../domain/agent.ts';

/** The part of an agent that the estimate counts. */
type Named = Pick<AgentRecord, 'agent_id' | 'endpoint' | 'agent_tags'>;

export type AgentMemory = {
  /** Counts the agent; returns its tags as the strings already in memory. */
  hold(agent: Named): readonly string[];
  /** Counts it no more. */
  giveBack(agent: Named): void;
  bytes(): number;
  /** How many more bytes there would be with the agent in place of its earlier registration. */
  estimateMore(agent: Named, before: Named | undefined): number;
};

/** An agent beside its texts: its record, contact, due entry, and its places in the index. */
const AGENT_BYTES = 2_304;
/** A tag of an agent, also if others have it too. */
const USE_BYTES = 96;
/** A tag that any agent has, beside its text: it is a key of several maps. */
const TAG_BYTES = 768;
/** A character of a tag is in the records, the maps, and what is searched for similar tags. */
const TAG_CHAR_BYTES = 6;
const CHAR_BYTES = 2;

/** Creates it without agents. */
export function createAgentMemory(): AgentMemory {
  const tags = createSharedTexts();
  let agentBytes = 0;

  const estimateTags = (count: number, chars: number): number => TAG_BYTES * count + TAG_CHAR_BYTES * chars;
  const estimateTag = (tag: string): number => estimateTags(1, tag.length);

  return {
    hold(agent) {
      agentBytes += estimateAgent(agent);
      return tags.hold(agent.agent_tags);
    },
    giveBack(agent) {
      agentBytes -= estimateAgent(agent);
      tags.giveBack(agent.agent_tags);
    },
    bytes: () => agentBytes + estimateTags(tags.count(), tags.chars()),
    estimateMore(agent, before) {
      const own = new Set(before?.agent_tags);
      const added = [...new Set(agent.agent_tags)].filter((tag) => tags.holders(tag) === 0);
      const kept = new Set(agent.agent_tags);
      const dropped = [...own].filter((tag) => tags.holders(tag) === 1 && !kept.has(tag));
      const sum = (texts: readonly string[]): number => texts.reduce((all, tag) => all + estimateTag(tag), 0);
      return estimateAgent(agent) - (before ? estimateAgent(before) : 0) + sum(added) - sum(dropped);
    },
  };
}

function estimateAgent({ agent_id, endpoint, agent_tags }: Named): number {
  return AGENT_BYTES + USE_BYTES * agent_tags.length + CHAR_BYTES * (agent_id.length + endpoint.length);
}
