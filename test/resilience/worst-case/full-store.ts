/** A store that is filled to its limits, written through the engine: by HTTP it would take minutes. */
import type { AgentFields } from '../../../server/domain/agent.ts';
import { JsonText } from '../../../server/domain/json-text.ts';
import type { TaskState } from '../../../server/domain/task.ts';
import type { Store } from '../../../server/ports/store.ts';
import { createIds } from '../../../server/system/ids.ts';
import {
  buildInput,
  buildState,
  type MoreOfTask,
  must,
  register,
  submissionOf,
  taskRef,
} from '../../engines/store-under-test.ts';

/** All tasks that are stored; `WORST_TASKS=140000` fills a session with all the events that it may have. */
const TASKS = Number(process.env.WORST_TASKS ?? 50_000);
export const AGENTS = 20_000;
/** Tasks that each of the first agents holds, its limit. */
export const HELD = 2_000;
/** Of a phase, until it is within its bound: each finds agents and tasks that none before it has used. */
export const TRIES = 3;
const HOLDERS = 10 + 2 * TRIES;
/** Tasks of each kind that waits; of the first kind so many for each try. */
export const WAITING = 1_000;
/** Tasks that have ended. */
export const ENDED = Math.max(1_000, TASKS - HOLDERS * HELD - (TRIES + 1) * WAITING);
/** Others that have ended, whose payload and result are as long as they may be. */
export const LARGE_ENDED = 100;
/** Their session. */
export const LARGE_SESSION = 'large';
/** Their session. */
export const SESSION = 'full';
const HOUR_MS = 3_600_000;
/** Commits under way at once. */
const AT_ONCE = 500;

const AGENT_IDS: readonly string[] = Array.from({ length: AGENTS }, (_, n) => `agent-${n}`);
export const agentId = (n: number): string => AGENT_IDS[n] ?? '';
/** The last holders, whose tasks are lost, one agent at each try. */
export const LOSERS = AGENT_IDS.slice(HOLDERS - TRIES, HOLDERS);
/** Those before them, which leave: they have refused all their tasks, so that these may move at once. */
export const LEAVERS = AGENT_IDS.slice(HOLDERS - 2 * TRIES, HOLDERS - TRIES);
/** Qualifies for the tasks with the tags `REFUSED`, and was busy for all of them. */
export const REFUSER = agentId(AGENTS - 1);
/** Has those tasks. */
const REFUSED_BY = agentId(AGENTS - 2);

/** Tags that all agents share: each has one of its own beside them. */
export const SHARED = Array.from({ length: 63 }, (_, n) => `shared-${n}`);
/** The tag that this agent alone has, as long as tags are compared. */
export const ownTag = (n: number): string => `own-${n}`.padEnd(60, '-');
const makeTags = (end: string): readonly string[] =>
  Array.from({ length: 64 }, (_, n) => `${n}`.padEnd(256, end));
/** 64 tags of 256 characters, which no agent has and for which tasks wait. */
export const LONG = makeTags('x');
/** The tags for which 1,000 tasks wait at each try. */
export const WANTED = [LONG, makeTags('w'), makeTags('z')];
/** Others, which `REFUSER` has. */
export const REFUSED = makeTags('y');
/** 64 tags that no agent has, each like tags that agents have. */
export const SIMILAR = Array.from({ length: 64 }, (_, n) => `${ownTag(n * 300)}-gpu`);

/** Ids of the stored tasks, by what has become of them. */
export type FullStore = {
  readonly ended: readonly string[];
  /** `HELD` of each holder, one after the other. */
  readonly held: readonly string[];
  /** One of them that no call ends, so that no retention removes it. */
  readonly lasting: string;
  readonly waiting: readonly string[];
  /** One that waits with the tags `SIMILAR`. */
  readonly similar: string;
  /** Those whose payload and result are as long as they may be. */
  readonly large: readonly string[];
};

/** Fills an empty store. */
export async function fillStore(store: Store): Promise<FullStore> {
  const large = newIds(store, LARGE_ENDED);
  const [held, waiting] = [newIds(store, HOLDERS * HELD), newIds(store, TRIES * WAITING)];
  const [refused, ended] = [newIds(store, WAITING), newIds(store, ENDED)];
  const [similar = ''] = newIds(store, 1);
  await inParts(AGENT_IDS, (id, n) => register(store, id, describeAgent(store, n)));
  await inParts(ended, (id) => addEnded(store, id));
  for (const id of large) await addEnded(store, id, 2 ** 20 - 2_000);
  await inParts(held, (id, n) => addRunning(store, id, agentId(Math.floor(n / HELD))));
  await inParts(waiting, (id, n) => addWaiting(store, id, WANTED[Math.floor(n / WAITING)] ?? LONG));
  await addWaiting(store, similar, SIMILAR);
  await inParts(refused, (id) => addRunning(store, id, REFUSED_BY, true));
  return { ended, held, lasting: held[HELD - 1] ?? '', waiting, similar, large };
}

/** Adds tasks whose deadlines have passed when the store is opened again. */
export async function addExpired(store: Store, count: number): Promise<void> {
  await inParts(newIds(store, count), (id) => addTask(store, id, { deadlineMs: store.nowMs() + 1 }));
}

/** Adds tasks that ended a minute ago, of the session of all of them. */
export async function addMoreEnded(store: Store, count: number): Promise<void> {
  await inParts(newIds(store, count), (id) => addEnded(store, id, 0, store.nowMs() - 60_000));
}

/** All within a few milliseconds, so that the end of an id says nothing of which of them it is. */
function newIds(store: Store, count: number): readonly string[] {
  const ids = createIds();
  return Array.from({ length: count }, () => ids.newRequestId(store.nowMs()));
}

function describeAgent(store: Store, n: number): Partial<AgentFields> {
  const agent_tags = agentId(n) === REFUSER ? REFUSED : [ownTag(n), ...SHARED];
  return { endpoint: 'pull', agent_tags, max_concurrent: HELD, registeredMs: store.nowMs() };
}

/** Submits a task in the state that it has later, due at its deadline. */
async function addTask(
  store: Store,
  id: string,
  more: Partial<TaskState>,
  others: MoreOfTask = {},
  payload = buildInput(id).payload,
): Promise<void> {
  const createdMs = Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
  const state = buildState(store, { createdMs, deadlineMs: createdMs + HOUR_MS, ...more });
  const input = buildInput(id, { cli_session_id: state.cli_session_id, task_tags: state.task_tags, payload });
  const due = state.settledMs === null ? [{ ref: taskRef(id), atMs: state.deadlineMs }] : [];
  must(await store.commit(submissionOf(input, state, { due, ...others })));
}

/** With this many characters of payload and result. */
async function addEnded(store: Store, id: string, chars = 0, settledMs = store.nowMs()): Promise<void> {
  const text = chars > 0 ? new JsonText(JSON.stringify({ text: 'x'.repeat(chars) })) : undefined;
  const session = text ? LARGE_SESSION : SESSION;
  const more = { settledMs, cli_session_id: session, result: text ?? { output: 'done' } };
  const event = { session, request_id: id };
  const large = text ? { payloadBytes: chars, payloadPreview: '{"text":"xx…' } : {};
  await addTask(store, id, { status: 'success', ...more, ...large }, { event }, text);
}

async function addWaiting(store: Store, id: string, tags: readonly string[]): Promise<void> {
  const queueEndMs = store.nowMs() + HOUR_MS;
  await addTask(store, id, { task_tags: tags, queueEndMs, waiting: true });
}

/**
 * A task that its agent has not claimed, or has not taken; or one that waits for another, which `REFUSER` was
 * busy for.
 */
async function addRunning(store: Store, id: string, agent_id: string, isRefused = false): Promise<void> {
  const nowMs = store.nowMs();
  const busy = isRefused ? [{ agent_id: REFUSER, untilMs: nowMs + HOUR_MS }] : [];
  const sent = {
    attempts: 1,
    untaken: isRefused || LEAVERS.includes(agent_id) ? 1 : 0,
    attemptMs: nowMs,
    disowned: 0,
    pull: true,
  };
  const delivery = { assignedMs: nowMs, acknowledged: false, nextMs: nowMs, ...sent, busy };
  const task_tags = isRefused ? REFUSED : ['held'];
  const state = { status: 'running', agent_id, assignees: [agent_id], waiting: isRefused } as const;
  const registration = `registration of ${agent_id}`;
  await addTask(
    store,
    id,
    { ...state, task_tags, delivery },
    { slots: [{ op: 'grant', agent_id, request_id: id, registration }] },
  );
}

async function inParts<T>(all: readonly T[], work: (one: T, n: number) => Promise<unknown>): Promise<void> {
  for (let from = 0; from < all.length; from += AT_ONCE)
    await Promise.all(all.slice(from, from + AT_ONCE).map((one, n) => work(one, from + n)));
}
