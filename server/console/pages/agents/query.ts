/** The filters of agents: in the address, and as the gateway takes them. Pure. */
import type { AgentQuery } from '../../gateway/shapes.ts';
import { type FilterKeys, readValue, type Token } from '../../routing/filter.ts';

export const AGENT_KEYS: FilterKeys = { all: ['tag', 'state', 'full', 'failing', 'id'], lists: [] };

/** Builds the query of a page. A switch that is neither `true` nor `false` is left out. */
export function buildAgentQuery(tokens: readonly Token[], cursor: string | null, limit: number): AgentQuery {
  const text = (key: 'tag' | 'state' | 'id') => {
    const value = readValue(tokens, key);
    return value === null ? {} : { [key]: value };
  };
  const flag = (key: 'full' | 'failing') => {
    const value = readValue(tokens, key);
    return value === 'true' || value === 'false' ? { [key]: value === 'true' } : {};
  };
  return {
    ...text('tag'),
    ...text('state'),
    ...text('id'),
    ...flag('full'),
    ...flag('failing'),
    ...(cursor !== null && { cursor }),
    limit,
  };
}
