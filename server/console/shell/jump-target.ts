/**
 * Finds the page for a text that was typed into the field at the top. A text that names its kind, or is a
 * whole id, needs no call. Any other text is looked up: as an agent, the end of a task's id, a session, a
 * tag.
 */
import type { ConsoleClient } from '../gateway/client.ts';
import type { Read } from '../gateway/polling.ts';
import { hrefOf } from '../routing/routes.ts';

/** A whole id of a task is a UUID; its end is 8 hexadecimal digits or more. */
const WHOLE_ID = /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/i;
const ID_END = /^[0-9a-f-]{8,}$/i;

/** The address for a text that needs no look-up; null for other texts. Pure. */
export function readTarget(text: string): string | null {
  const typed = trimTyped(text);
  const [, key, value = ''] = /^(agent|tag|session|type|id)=(.+)$/s.exec(typed) ?? [];
  if (key === 'agent') return hrefOf({ page: 'agent', agent_id: value });
  if (key !== undefined) return hrefTasks(key, value);
  return WHOLE_ID.test(typed) ? hrefOf({ page: 'task', request_id: typed.toLowerCase() }) : null;
}

function trimTyped(text: string): string {
  return text.trim().replace(/^…/, '');
}

function hrefTasks(key: string, value: string): string {
  return hrefOf({ page: 'tasks' }, `?${key}=${encodeURIComponent(value)}`);
}

/** The reads of the gateway that a look-up needs. */
export type Lookups = Pick<ConsoleClient, 'readAgents' | 'readTasks'>;

/**
 * Resolves with the address for a text; null if nothing has that name. A text that names its kind or is a
 * whole id needs no call. Else it is looked up: the agent with this id, the tasks whose ids end with it (a
 * single one is opened itself), a session that has tasks, a tag among `tags`. Rejects as a call does.
 */
export async function findTarget(
  text: string,
  client: Lookups,
  tags: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<string | null> {
  const target = readTarget(text);
  if (target !== null) return target;
  const typed = trimTyped(text);
  const isIdEnd = ID_END.test(typed);
  const read = async <Value>(one: Read<Value>): Promise<Value | null> => {
    const found = await one(null, signal);
    return found === 'unchanged' ? null : found.value;
  };
  const [agents, byId, bySession] = await Promise.all([
    read(client.readAgents({ id: typed, limit: AGENTS_LIMIT })),
    isIdEnd ? read(client.readTasks({ id: typed.toLowerCase(), limit: 2 })) : null,
    read(client.readTasks({ session: typed, limit: 1 })),
  ]);
  if (agents?.agents.some(({ agent_id }) => agent_id === typed)) {
    return hrefOf({ page: 'agent', agent_id: typed });
  }
  const [task, ...others] = byId?.tasks ?? [];
  if (task) {
    const { request_id } = task;
    return others.length === 0 ? hrefOf({ page: 'task', request_id }) : hrefTasks('id', typed.toLowerCase());
  }
  // If there is a cursor, not all tasks were looked at, so the list may still find some.
  if (bySession && (bySession.tasks.length > 0 || bySession.next_cursor !== null)) {
    return hrefTasks('session', typed);
  }
  if (tags.has(typed)) return hrefTasks('tag', typed);
  return agents && agents.agents.length > 0
    ? hrefOf({ page: 'agents' }, `?id=${encodeURIComponent(typed)}`)
    : null;
}

/**
 * How many agents are read whose id contains the text. The agent with exactly this id is looked for among
 * them.
 */
const AGENTS_LIMIT = 200;
