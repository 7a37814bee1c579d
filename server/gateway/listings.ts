/**
 * The administrator's two listings: agents and tasks. A page of tasks is bounded in bytes as well as in number,
 * and the tasks are read one after the other: a listing never holds more than a page and one task beyond it.
 */
import { yieldToEventLoop } from '../async/waiting.ts';
import { agentLoad, agentState, isFull } from '../domain/agent.ts';
import { describeTask, type TaskInfo, type TaskState } from '../domain/task.ts';
import { type AgentListing, type Gateway, GatewayError, type TaskQuery } from '../ports/gateway.ts';
import type { AgentStatus, Store } from '../ports/store.ts';
import type { LargeTasks } from './large-tasks.ts';

/** Agents that are read and described before everything else gets a turn. */
const AGENTS_PER_TURN = 100;
const SHOWN_IDS_MAX = 100;
/** A page looks at no more tasks than this, so that a rare match costs no more than a common one. */
const LOOKED_AT_MAX = 1_000;
const LOOK_SLICE = 100;
/** Tasks that are looked at before everything else gets a turn. */
const TASKS_PER_TURN = 10;
/** A page ends once its payloads and results have this many characters as JSON; the last may exceed it. */
const PAGE_CHARS_MAX = 4 * 1024 * 1024;

type Deps = { readonly store: Store; readonly largeTasks: LargeTasks };

/** Creates the listings. */
export function createListings(deps: Deps): Pick<Gateway, 'listAgents' | 'listTasks'> {
  const { store } = deps;
  return {
    async listAgents() {
      const agents: AgentListing[] = [];
      let after: string | null = null;
      do {
        const page: { items: readonly AgentStatus[]; next: string | null } = await store.list(
          'agents',
          {},
          { limit: AGENTS_PER_TURN, ...(after !== null && { after }) },
        );
        const registered = page.items.filter(({ record }) => record.unregisteredMs === null);
        agents.push(
          ...(await Promise.all(registered.map((agentStatus) => describeAgent(store, agentStatus)))),
        );
        after = page.next;
        if (after !== null) await yieldToEventLoop();
      } while (after !== null);
      return { agents, total: agents.length };
    },

    listTasks: (query) => listTasks(deps, query),
  };
}

async function describeAgent(store: Store, { record, slots, contact }: AgentStatus): Promise<AgentListing> {
  const { agent_id } = record;
  const shown = slots > 0 ? await store.list('slots', { agent_id }, { limit: SHOWN_IDS_MAX }) : null;
  return {
    agent_id,
    endpoint: record.endpoint,
    agent_tags: record.agent_tags,
    state: agentState(record, slots),
    full: isFull(record, slots),
    eligible: slots < record.limit,
    max_concurrent: record.max_concurrent,
    current_load: agentLoad(record, slots),
    running: slots,
    running_request_ids: shown?.items.map(({ request_id }) => request_id) ?? [],
    registered_time: record.registeredMs / 1_000,
    last_contact_time: contact.contactMs / 1_000,
    push: { last_status: contact.push?.status ?? null, last_error: contact.push?.error ?? null },
  };
}

async function listTasks(
  deps: Deps,
  query: TaskQuery,
): Promise<{ tasks: readonly TaskInfo[]; next_cursor: string | null }> {
  const ask = {
    ...(query.session !== undefined && { session: query.session }),
    ...(query.session === undefined && query.agent !== undefined && { agent_id: query.agent }),
  };
  const tasks: TaskInfo[] = [];
  let after = query.cursor === undefined ? null : decodeCursor(query.cursor);
  let chars = 0;
  for (let lookedAt = 0; lookedAt < LOOKED_AT_MAX; lookedAt += LOOK_SLICE) {
    const page = await deps.store.list('tasks', ask, { limit: LOOK_SLICE, ...(after !== null && { after }) });
    for (const [index, { request_id, position }] of page.items.entries()) {
      if (index % TASKS_PER_TURN === TASKS_PER_TURN - 1) await yieldToEventLoop();
      after = position;
      const found = await readMatch(deps, request_id, query);
      if (!found) continue;
      tasks.push(found.task);
      chars += found.chars;
      if (tasks.length === query.limit || chars > PAGE_CHARS_MAX) {
        const isLast = page.next === null && index === page.items.length - 1;
        return { tasks, next_cursor: isLast ? null : encodeCursor(position) };
      }
    }
    if (page.next === null) return { tasks, next_cursor: null };
  }
  return { tasks, next_cursor: after === null ? null : encodeCursor(after) };
}

/** The task if it matches, with the characters of its payload and result; undefined when it does not. */
function readMatch(
  { store, largeTasks }: Deps,
  request_id: string,
  query: TaskQuery,
): Promise<{ readonly task: TaskInfo; readonly chars: number } | undefined> {
  return largeTasks.read(request_id, async () => {
    const state = (await store.get('task', request_id))?.value;
    if (!state || !matches(state, query)) return undefined;
    const input = (await store.get('input', request_id))?.value;
    if (!input) return undefined;
    const task = describeTask(input, state);
    return { task, chars: countChars(task.payload) + countChars(task.result) };
  });
}

function countChars(value: unknown): number {
  return value === null ? 0 : JSON.stringify(value).length;
}

function matches(state: TaskState, query: TaskQuery): boolean {
  return (
    (query.status === undefined || state.status === query.status) &&
    (query.type === undefined || state.task_type === query.type) &&
    (query.tag === undefined || state.task_tags.includes(query.tag)) &&
    (query.session === undefined || state.cli_session_id === query.session) &&
    (query.agent === undefined || state.agent_id === query.agent)
  );
}

function encodeCursor(position: string): string {
  return Buffer.from(position, 'utf8').toString('base64url');
}

function decodeCursor(cursor: string): string {
  const position = Buffer.from(cursor, 'base64url').toString('utf8');
  if (position === '' || encodeCursor(position) !== cursor) {
    throw new GatewayError(
      'validation_failed',
      'cursor: not valid. Send the next_cursor of the last page unchanged.',
    );
  }
  return position;
}
