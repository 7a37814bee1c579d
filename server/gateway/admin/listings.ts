/**
 * The administrator's two listings. Agents are read as their reader takes them. A page of tasks is bounded in
 * bytes as well as in number, and the tasks are read and rendered one after the other as pieces of the large
 * work: all listings together take no more than half of the process, and each holds no more than the bytes of
 * a page and one task beyond it. A piece is a few milliseconds of small tasks or one large task, so a page of
 * small tasks waits for one or two pieces however many pages of large tasks are read.
 */
import type { LargeWork } from '../../async/large-work.ts';
import { yieldToEventLoop } from '../../async/waiting.ts';
import { agentLoad, agentState, isFull } from '../../domain/agent.ts';
import { readCursor, writeCursor } from '../../domain/cursor.ts';
import { outcomeOf } from '../../domain/history.ts';
import { describeTask, type TaskState } from '../../domain/task.ts';
import { isLargeValue } from '../../domain/value-size.ts';
import { type Caller, UNNAMED_CALLER } from '../../ports/caller.ts';
import type { Clock } from '../../ports/clock.ts';
import {
  type AgentListing,
  type Gateway,
  GatewayError,
  type RenderTask,
  type TaskQuery,
} from '../../ports/gateway.ts';
import type { AgentStatus, Store, TasksAsk } from '../../ports/store.ts';
import { limitTime } from '../deadline.ts';
import type { LargeTasks } from '../tasks/large-tasks.ts';

/** Agents that are read and described before everything else goes on. */
const AGENTS_PER_TURN = 100;
const SHOWN_IDS_MAX = 100;
/** A page looks at no more tasks than this, so that a rare match costs no more than a common one. */
const LOOKED_AT_MAX = 1_000;
const LOOK_SLICE = 100;
/** Small tasks are looked at for so long, and so many at least, before everything else goes on. */
const TURN_MS = 5;
const TASKS_PER_TURN_MIN = 10;
/** A page that other work has held up so long ends with what it has, within the time of a call. */
const PAGE_WITHIN_MS = 2_000;
/** A page ends once its tasks have this many bytes as JSON; the last may exceed it. */
const PAGE_BYTES_MAX = 4 * 1024 * 1024;

type Deps = {
  readonly store: Store;
  readonly clock: Clock;
  readonly largeWork: LargeWork;
  readonly largeTasks: LargeTasks;
};
type AgentsPage = { readonly agents: readonly AgentListing[]; readonly next: string | null };
type ListedTask = { readonly request_id: string; readonly position: string };

/** Creates the listings. */
export function createListings(deps: Deps): Pick<Gateway, 'listAgents' | 'listTasks'> {
  const { store, clock } = deps;
  const { readSome } = limitTime(clock, { readSome: (after: string | null) => readAgents(store, after) });
  return {
    async *listAgents() {
      let after: string | null = null;
      do {
        const page: AgentsPage = await readSome(after);
        yield* page.agents;
        after = page.next;
        if (after !== null) await yieldToEventLoop();
      } while (after !== null);
    },

    listTasks: (query, render, caller = UNNAMED_CALLER) => listTasks(deps, { query, render, caller }),
  };
}

/** Reads and describes the next agents; `next` is null at the end. */
async function readAgents(store: Store, after: string | null): Promise<AgentsPage> {
  const range = { limit: AGENTS_PER_TURN, ...(after !== null && { after }) };
  const { items, next } = await store.list('agents', {}, range);
  const registered = items.filter(({ record }) => record.unregisteredMs === null);
  return {
    agents: await Promise.all(registered.map((agentStatus) => describeAgent(store, agentStatus))),
    next,
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

/** What is asked for, by whom, and in which form. */
type PageRequest = { readonly query: TaskQuery; readonly render: RenderTask; readonly caller: Caller };
/** What a page holds so far, and where it has looked up to. */
type TaskPage = { readonly tasks: Buffer[]; bytes: number; after: string | null };

async function listTasks(deps: Deps, request: PageRequest): ReturnType<Gateway['listTasks']> {
  const { store, clock, largeWork, largeTasks } = deps;
  const { query, caller } = request;
  const ask = chooseListing(query);
  const found: TaskPage = { tasks: [], bytes: 0, after: query.cursor ? requirePosition(query.cursor) : null };
  const endMs = clock.monotonicMs() + PAGE_WITHIN_MS;
  for (let lookedAt = 0; lookedAt < LOOKED_AT_MAX; lookedAt += LOOK_SLICE) {
    const { after } = found;
    const slice = await store.list('tasks', ask, { limit: LOOK_SLICE, ...(after !== null && { after }) });
    for (let index = 0; index < slice.items.length; ) {
      const rest = slice.items.slice(index);
      const isLarge = largeTasks.isLarge(rest[0]?.request_id ?? '');
      const position = { caller, order: isLarge ? 'large' : 'small', isRead: true } as const;
      index += await largeWork.run(position, () => lookAtSome(deps, request, rest, found));
      const isEnd = slice.next === null && index === slice.items.length;
      const isFull = found.tasks.length >= query.limit || found.bytes > PAGE_BYTES_MAX;
      if (isEnd || isFull || clock.monotonicMs() > endMs) return endPage(found, isEnd);
    }
    if (slice.next === null) return endPage(found, true);
  }
  return endPage(found, false);
}

/** The listing that holds every task that may match, and the fewest others. */
function chooseListing({ session, agent, outcome }: TaskQuery): TasksAsk {
  if (session !== undefined) return { session };
  if (agent !== undefined) return { agent_id: agent };
  return outcome === undefined || outcome === 'success' ? {} : { outcome };
}

function endPage({ tasks, after }: TaskPage, isEnd: boolean): Awaited<ReturnType<Gateway['listTasks']>> {
  return { tasks, next_cursor: isEnd || after === null ? null : writeCursor(after) };
}

/**
 * Looks at the items and adds those that match to the page; stops after a large one, before another that is
 * remembered as large, when its time is over and at the page's limit. Returns how many it has looked at.
 */
async function lookAtSome(
  { store, clock, largeTasks }: Deps,
  { query, render, caller }: PageRequest,
  items: readonly ListedTask[],
  found: TaskPage,
): Promise<number> {
  let lookedAt = 0;
  const endMs = clock.monotonicMs() + TURN_MS;
  for (const { request_id, position } of items) {
    if (lookedAt > 0 && largeTasks.isLarge(request_id)) break;
    if (lookedAt >= TASKS_PER_TURN_MIN && clock.monotonicMs() >= endMs) break;
    lookedAt += 1;
    found.after = position;
    const state = (await store.get('task', request_id, caller))?.value;
    const isMatch = state !== undefined && matches(state, query);
    const input = isMatch ? (await store.get('input', request_id, caller))?.value : undefined;
    if (state && input) {
      const rendered = render(describeTask(input, state));
      found.tasks.push(rendered);
      found.bytes += rendered.length;
    }
    const isLarge = isLargeValue(state) || isLargeValue(input);
    if (isLarge) largeTasks.note(request_id);
    if (isLarge || found.tasks.length === query.limit) break;
  }
  return lookedAt;
}

function matches(state: TaskState, query: TaskQuery): boolean {
  return (
    (query.status === undefined || state.status === query.status) &&
    (query.outcome === undefined || outcomeOf(state) === query.outcome) &&
    (query.type === undefined || state.task_type === query.type) &&
    (query.tag === undefined || state.task_tags.includes(query.tag)) &&
    (query.session === undefined || state.cli_session_id === query.session) &&
    (query.agent === undefined || state.agent_id === query.agent)
  );
}

function requirePosition(cursor: string): string {
  const position = readCursor(cursor);
  if (position !== null) return position;
  const detail = 'must be the `next_cursor` of the previous page';
  throw new GatewayError('validation_failed', detail, '/cursor');
}
