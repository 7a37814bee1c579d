/**
 * The queries of the plain store. Each reads everything, except that waiting tasks are read in their order.
 */
import { buildActivity, levelsOf } from '../../domain/activity.ts';
import { findOpenQuestion, isWaitingForAnswer } from '../../domain/asking.ts';
import { claimableFromMs } from '../../domain/delivery.ts';
import { sortEnded } from '../../domain/ended-task.ts';
import { endingOf } from '../../domain/projection.ts';
import type { TaskState } from '../../domain/task.ts';
import { classifyTask, fillOutcomes, isOutcome, type TaskCounts } from '../../domain/task-counts.ts';
import { STORE_LIMITS } from '../../ports/limits.ts';
import type { AgentStatus, Claimable, Demand, Lists, Store, TagDemand, TasksAsk } from '../../ports/store.ts';
import { NO_OUTPUT } from './output.ts';
import { listWaiting, type PlainState, positionOf, readValue } from './state.ts';

type Reads = 'get' | 'getForCommit' | 'getAgentStatus' | 'readAgentChanges' | 'list' | 'listClaimable';
type Figures = 'readCounts' | 'readActivity' | 'readEnded' | 'findSlots' | 'readOutput';

/** `use` returns the state, and throws once the store is closed. */
export function createQueries(use: () => PlainState): Pick<Store, Reads | Figures> {
  return {
    get: async (kind, id) => readValue(use(), kind, id),
    getForCommit: async (request_id) => readValue(use(), 'task', request_id),
    getAgentStatus: async (agent_id) => readAgentStatus(use(), agent_id),
    async readAgentChanges(after) {
      const page = use().changes.read(after, Number.POSITIVE_INFINITY);
      return { ...page, changed: page.changed.flatMap((id) => readAgentStatus(use(), id) ?? []) };
    },
    list: async (query, ask, page) => listPage(use(), query, ask, page),
    listClaimable: async (agent_id, limit) => listClaimable(use(), agent_id, limit),
    readCounts: async (tagsMax) => readCounts(use(), tagsMax),
    async readActivity() {
      const { steps, open, waiting, nowMs } = use();
      return buildActivity([...steps.values()], levelsOf(open.size, waiting.size), nowMs());
    },
    async readEnded() {
      const tasks = [...use().values.task];
      const ended = tasks.flatMap(([id, { value }]) => endingOf(id, undefined, value)?.task ?? []);
      return sortEnded(ended).slice(0, STORE_LIMITS.endedMax);
    },
    async findSlots(agent_id, request_ids) {
      const held = use().slots.get(agent_id);
      return new Set(request_ids.filter((id) => held?.has(id)));
    },
    async readOutput(request_id, after, limit) {
      const { values, outputs } = use();
      const { pieces, last, isFull, isRemoved } = outputs.get(request_id) ?? NO_OUTPUT;
      const page: { n: number; json: string }[] = [];
      let bytes = 0;
      for (const [index, json] of pieces.slice(after, after + limit).entries()) {
        bytes += Buffer.byteLength(json);
        if (page.length > 0 && bytes > STORE_LIMITS.outputPageBytes) break;
        page.push({ n: after + index + 1, json });
      }
      const missing = isRemoved ? 'removed' : isFull ? 'truncated' : null;
      return { pieces: page, last, missing, revision: values.task.get(request_id)?.revision ?? null };
    },
  };
}

function readAgentStatus(state: PlainState, agent_id: string): AgentStatus | undefined {
  const { values, slots, contacts } = state;
  const { value: record, revision } = values.agent.get(agent_id) ?? {};
  if (!record || revision === undefined) return undefined;
  const seen = { lastGrantMs: contacts.lastGrantMs(agent_id), contact: contacts.contactOf(agent_id) };
  return { record, revision, slots: slots.get(agent_id)?.size ?? 0, ...seen };
}

function listClaimable({ open, nowMs }: PlainState, agent_id: string, limit: number): Claimable {
  const now: (readonly [id: string, assignedMs: number])[] = [];
  let nextMs: number | null = null;
  for (const [request_id, task] of open) {
    const fromMs = task.agent_id === agent_id ? claimableFromMs(task) : null;
    if (fromMs === null) continue;
    if (fromMs <= nowMs()) now.push([request_id, task.delivery?.assignedMs ?? 0]);
    else nextMs = Math.min(nextMs ?? fromMs, fromMs);
  }
  now.sort(([a, x], [b, y]) => x - y || (a < b ? -1 : 1));
  return { request_ids: now.slice(0, limit).map(([request_id]) => request_id), nextMs };
}

function readCounts({ values, waiting, open }: PlainState, tagsMax: number): TaskCounts & Demand {
  const counts = { pending: 0, running: 0, ...fillOutcomes() };
  for (const { value } of values.task.values()) counts[classifyTask(value)] += 1;
  const { pending, running, ...ended } = counts;
  const waitingForAnswer = [...open.values()].filter(isWaitingForAnswer).length;
  const byTag = new Map<string, TagDemand>();
  for (const id of waiting.values()) {
    const { task_tags = [], createdMs = 0 } = open.get(id) ?? {};
    for (const tag of new Set(task_tags)) {
      const { waiting = 0, oldestMs = createdMs } = byTag.get(tag) ?? {};
      byTag.set(tag, { tag, waiting: waiting + 1, oldestMs });
    }
  }
  const oldestWaitingMs = open.get(waiting.get(waiting.minKey() ?? '') ?? '')?.createdMs ?? null;
  const tags = { oldestWaitingMs, tags: [...byTag.values()].slice(0, tagsMax) };
  return { pending, running, ended, waiting: waiting.size, waitingForAnswer, ...tags };
}

type Ask = TasksAsk & { readonly tags?: readonly string[] };
type Listed = readonly [position: string, id: string];
type PageAsk = { readonly after?: string; readonly limit: number };

function listPage(state: PlainState, query: keyof Lists, ask: Ask, { after, limit }: PageAsk) {
  const isNewestFirst = query === 'tasks' || query === 'unreported';
  const isBehind = (a: string, b: string): boolean => (isNewestFirst ? a < b : a > b);
  const sort = (all: readonly Listed[]) => all.toSorted(([a], [b]) => (isBehind(a, b) ? 1 : -1));
  const found: Listed[] = [];
  for (const one of query === 'waiting' ? listWaiting(state, ask.tags) : sort(listAll(state, query, ask))) {
    if (after === undefined || isBehind(one[0], after)) found.push(one);
    if (found.length > limit) break;
  }
  const shown = found.slice(0, limit);
  const next = found.length > limit ? (shown.at(-1)?.[0] ?? null) : null;
  const isPositioned = query === 'tasks' || query === 'waitingForAnswer';
  const items = shown.map(([position, request_id]) =>
    isPositioned ? { request_id, position } : { request_id },
  );
  return { items: items as never[], next };
}

/** All items of a listing, in any order. */
function listAll(state: PlainState, query: keyof Lists, ask: Ask): readonly Listed[] {
  const { values, slots, open, unreported, nowMs } = state;
  const at = (ms: number, id: string): Listed => [positionOf(ms, id), id];
  if (query === 'slots')
    return [...(slots.get(ask.agent_id ?? '') ?? [])].map(([id, grant]) => at(grant, id));
  if (query === 'unreported')
    return [...unreported]
      .filter(({ agent_id, untilMs }) => agent_id === ask.agent_id && untilMs > nowMs())
      .map(({ atMs, request_id }) => at(atMs, request_id));
  if (query === 'waitingForAnswer')
    return [...open].flatMap(([id, task]) => {
      const question = findOpenQuestion(task);
      return question ? [at(question.askedMs, id)] : [];
    });
  const tasks = [...values.task].filter(([, { value }]) => isAskedFor(value, ask));
  return tasks.map(([id, { value }]) => at(value.createdMs, id));
}

function isAskedFor(task: TaskState, ask: Ask): boolean {
  const { session, agent_id, open, outcome, fromMs = 0, toMs = Number.MAX_VALUE } = ask;
  if (task.createdMs < fromMs || task.createdMs >= toMs) return false;
  if (session !== undefined) return task.cli_session_id === session;
  if (agent_id !== undefined) return task.assignees.includes(agent_id);
  const taskClass = classifyTask(task);
  if (outcome !== undefined) return taskClass === outcome;
  if (open === 'waiting') return task.waiting;
  return open === undefined || (!isOutcome(taskClass) && (open === true || open === taskClass));
}
