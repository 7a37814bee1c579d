/**
 * Each operation with its fields at their limits, as data: what it sends, and how many elements its reply or
 * its work has where it is a list. An operation of the document that has no row does not compile.
 */
import { HTTP_LIMITS } from '../../../server/http/http.ts';
import { buildCall, type Call, type OperationId } from '../../contract/usual-calls.ts';
import { ADMIN_SECRET, SECRET } from '../../harness/gateway-process.ts';
import {
  AGENTS,
  agentId,
  ENDED,
  type FullStore,
  HELD,
  LARGE_ENDED,
  LARGE_SESSION,
  LONG,
  ownTag,
  REFUSED,
  REFUSER,
  SESSION,
  SHARED,
  SIMILAR,
  WAITING,
} from './full-store.ts';

export type Row = {
  /** What is at its limit. */
  readonly at: string;
  /** One call; each has another number. */
  readonly call: (store: FullStore, n: number) => Call;
  /** What a list prints or works on, or KiB of a large value; each may take 0.1 ms of CPU. */
  readonly elements?: number;
  /** Tasks of them that it changes, each in a commit of its own. */
  readonly commits?: number;
  /** Each response has this status; by default it is a success. */
  readonly status?: number;
  /** So many events are read of a stream; else its first one. */
  readonly events?: (store: FullStore) => number;
};

const SECRETS = { gateway: SECRET, admin: ADMIN_SECRET };
/** As long as a body may be, with room for its other fields: one text, and as many values as it may have. */
const BODY_KIB = HTTP_LIMITS.bodyBytesMax / 1_024;
const LARGE = { text: 'x'.repeat(HTTP_LIMITS.bodyBytesMax - 100_000) };
const WIDE = Object.fromEntries(
  Array.from({ length: HTTP_LIMITS.partsMax - 200 }, (_, n) => [`key-${n}`.padEnd(20, '\n'), 'x'.repeat(8)]),
);
/** Of all bodies the parser takes longest for this one; then it is refused, because it has too many keys. */
export const HARD_BODY = `[${Array.from({ length: 97_000 }, (_, n) => `{"${n.toString(36)}":1}`)}]`;
const IDS = Array.from({ length: 1_000 }, (_, n) => `unknown-${n}`);
/** The agent that holds tasks until its row unregisters one. */
const HOLDER = agentId(0);

const usual = (operationId: OperationId, body = {}, id?: string): Call =>
  buildCall(operationId, SECRETS, body, id);
const withQuery = (operationId: OperationId, query: Readonly<Record<string, string>>): Call => {
  const call = usual(operationId);
  return { ...call, path: `${call.path.split('?')[0]}?${new URLSearchParams(query)}` };
};
/** The end of an id; thousands of others were submitted within the same seconds. */
const endOf = ({ ended }: FullStore): string => ended[0]?.slice(-8) ?? '';
const thousandHeld = ({ held }: FullStore, n: number): readonly string[] =>
  held.slice(HELD + 1_000 * n, HELD + 1_000 * (n + 1));

const TAG_ROWS = [
  ['64 tags that all agents share', [...SHARED, ownTag(7)]],
  ['64 unknown tags of 256 characters', LONG],
  ['64 unknown tags like those of agents', SIMILAR],
] as const;

/** Pieces that a body just holds. */
const PIECES = Array(100).fill({ text: 'x'.repeat(600) });

/** As many questions as a body holds, each with the largest schema; and the largest answer to one. */
const FIELDS = Array.from({ length: 20 }, (_, n) => `field-${n}`);
const QUESTIONS = Array.from({ length: 7 }, (_, key) => ({
  question: {
    key: String(key),
    prompt: 'x'.repeat(300),
    schema: {
      type: 'object',
      properties: Object.fromEntries(
        FIELDS.map((name) => [name, { type: 'string', title: 'x'.repeat(350) }]),
      ),
      required: FIELDS,
    },
  },
}));
const ANSWER = Object.fromEntries(FIELDS.map((name) => [name, 'x'.repeat(390)]));

/** A task that waits for a second for an agent with one of 64 tags that none has. */
export const buildWaiting = (): Call => usual('submitTask', { task_tags: SIMILAR, queue_timeout: 1 });
export const buildRegistration = (body: object): Call =>
  usual('registerAgent', { agent_tags: LONG, max_concurrent: WAITING, ...body });
export const buildUnregistration = (agent_id: string): Call => usual('unregisterAgent', { agent_id });
export const buildPreview = (): Call => usual('previewMatch', { task_tags: TAG_ROWS[0][1] });
export const buildCounts = (): Call => withQuery('listTasks', { counts: 'true', limit: '1' });
const buildGet = (id: string): Call => usual('getTask', {}, id);
const drainByTurns = (_store: FullStore, n: number): Call =>
  usual('drainAgent', { draining: n % 2 === 0 }, HOLDER);

export const ROWS: { readonly [O in OperationId]: readonly [Row, ...Row[]] } = {
  submitTask: [
    { at: TAG_ROWS[0][0], call: () => usual('submitTask', { task_tags: TAG_ROWS[0][1] }) },
    { at: TAG_ROWS[1][0], call: () => usual('submitTask', { task_tags: TAG_ROWS[1][1] }) },
    { at: TAG_ROWS[2][0], call: () => usual('submitTask', { task_tags: TAG_ROWS[2][1] }) },
    {
      at: 'its only agent was busy for 1,000 tasks that wait',
      call: () => usual('submitTask', { task_tags: REFUSED }),
    },
    { at: 'the longest text', elements: BODY_KIB, call: () => usual('submitTask', { payload: LARGE }) },
    {
      at: 'as many values as a body may have',
      elements: BODY_KIB,
      call: () => usual('submitTask', { payload: WIDE }),
    },
  ],
  getTask: [
    { at: 'one of many', call: ({ ended }, n) => buildGet(ended[n] ?? '') },
    {
      at: 'payload and result of 1 MiB',
      elements: 2 * BODY_KIB,
      call: ({ large: [id = ''] }) => buildGet(id),
    },
  ],
  explainTask: [
    { at: 'one of many', call: ({ ended }, n) => usual('explainTask', {}, ended[n]) },
    {
      at: 'one that waits, with 64 unknown tags like those of agents',
      call: ({ similar }) => usual('explainTask', {}, similar),
    },
  ],
  previewMatch: [
    { at: TAG_ROWS[0][0], call: buildPreview },
    { at: TAG_ROWS[1][0], call: () => usual('previewMatch', { task_tags: TAG_ROWS[1][1] }) },
    { at: TAG_ROWS[2][0], call: () => usual('previewMatch', { task_tags: TAG_ROWS[2][1] }) },
  ],
  cancelTask: [
    { at: 'one that runs', call: ({ held }, n) => usual('cancelTask', {}, held[n]) },
    {
      at: 'one of 1,000 that wait with 64 tags',
      call: ({ waiting }, n) => usual('cancelTask', {}, waiting[n]),
    },
  ],
  subscribeEvents: [
    { at: 'the first event of a full session', call: () => usual('subscribeEvents', {}, SESSION) },
    {
      at: 'all events of a full session',
      elements: ENDED,
      events: ({ ended }) => ended.length,
      call: () => usual('subscribeEvents', {}, SESSION),
    },
  ],
  claimTask: [
    { at: 'of 2,000 tasks', call: () => usual('claimTask', { agent_id: HOLDER, wait: 0 }) },
    {
      at: '1,000 ids',
      elements: 1_000,
      call: ({ held }) =>
        usual('claimTask', { agent_id: HOLDER, wait: 0, request_ids: held.slice(0, 1_000) }),
    },
    {
      at: '64 tags of 256 characters, and 1,000 tasks wait that it may not take',
      call: () => usual('claimTask', { agent_id: REFUSER, wait: 0 }),
    },
  ],
  heartbeatAgent: [
    {
      at: '1,000 ids, of an agent with 2,000 tasks',
      elements: 1_000,
      call: ({ held }) => usual('heartbeatAgent', { agent_id: HOLDER, request_ids: held.slice(0, 1_000) }),
    },
  ],
  registerAgent: [
    {
      at: '64 tags of 256 characters, 1,000 ids',
      elements: 1_000,
      call: (_, n) => buildRegistration({ agent_id: agentId(200 + n), max_concurrent: 0, request_ids: IDS }),
    },
    {
      at: 'names none of its 2,000 tasks',
      elements: HELD,
      commits: HELD,
      call: (_, n) =>
        buildRegistration({
          agent_id: agentId(1 + n),
          agent_tags: ['held'],
          max_concurrent: HELD,
          request_ids: [],
        }),
    },
  ],
  reportResult: [
    {
      at: 'the longest text',
      elements: BODY_KIB,
      call: ({ held }, n) =>
        usual('reportResult', { agent_id: HOLDER, request_id: held[100 + n], result: LARGE }),
    },
    {
      at: 'as many values as a body may have',
      elements: BODY_KIB,
      call: ({ held }, n) =>
        usual('reportResult', { agent_id: HOLDER, request_id: held[200 + n], result: WIDE }),
    },
  ],
  writeOutput: [
    {
      at: 'the first of a writer, 100 pieces that fill a body',
      call: ({ held }, n) =>
        usual('writeOutput', { agent_id: HOLDER, request_id: held[300 + n], pieces: PIECES }),
    },
    {
      at: 'seven questions with the largest schemas',
      call: ({ held }, n) =>
        usual('writeOutput', { agent_id: HOLDER, request_id: held[400 + n], pieces: QUESTIONS }),
    },
  ],
  readOutput: [
    { at: 'of one of many', call: ({ held }, n) => usual('readOutput', {}, held[300 + n]) },
    {
      at: 'of a task with a result of 1 MiB',
      elements: 2 * BODY_KIB,
      call: ({ large: [id = ''] }) => usual('readOutput', {}, id),
    },
  ],
  answerTask: [
    {
      at: 'the largest answer, to a question with the largest schema',
      call: ({ held }, n) => usual('answerTask', { key: '6', answer: ANSWER }, held[400 + n]),
    },
  ],
  claimAnswer: [
    {
      at: 'the largest answer',
      call: ({ held }, n) => usual('claimAnswer', { agent_id: HOLDER, request_id: held[400 + n], key: '6' }),
    },
  ],
  unregisterAgent: [
    {
      at: 'with 2,000 tasks',
      elements: HELD,
      call: (_, n) => buildUnregistration(agentId(1 + n)),
    },
  ],
  listAgents: [
    { at: 'all', elements: AGENTS, call: () => usual('listAgents') },
    {
      at: 'all, a tag that two have',
      elements: AGENTS,
      call: () => withQuery('listAgents', { tag: ownTag(AGENTS - 3) }),
    },
    { at: 'a page of 200', elements: 200, call: () => withQuery('listAgents', { limit: '200' }) },
    {
      at: 'a page, a tag that none of the looked at has',
      call: () => withQuery('listAgents', { limit: '200', tag: ownTag(AGENTS - 3) }),
    },
  ],
  listTasks: [
    { at: '200 rows', elements: 200, call: () => withQuery('listTasks', { limit: '200' }) },
    {
      at: '100 with a result of 1 MiB',
      elements: LARGE_ENDED * BODY_KIB,
      call: () => withQuery('listTasks', { limit: '200', session: LARGE_SESSION }),
    },
    {
      at: 'none of the looked at',
      elements: 1_000,
      call: () => withQuery('listTasks', { limit: '200', type: 'none' }),
    },
    {
      at: 'of a session, none of the looked at',
      elements: 1_000,
      call: () => withQuery('listTasks', { limit: '200', session: SESSION, type: 'none' }),
    },
    {
      at: 'the end of an id',
      elements: 20_000,
      call: (store) => withQuery('listTasks', { id: endOf(store) }),
    },
    { at: 'the counts of all', call: buildCounts },
    {
      at: 'counts, none of the looked at',
      elements: 2_000,
      call: () => withQuery('listTasks', { limit: '200', type: 'none', counts: 'true' }),
    },
    {
      at: 'counts, the end of an id',
      elements: 20_000,
      call: (store) => withQuery('listTasks', { id: endOf(store), counts: 'true' }),
    },
  ],
  getOverview: [{ at: '1,000 tags', call: () => withQuery('getOverview', { tags: '1000' }) }],
  cancelTasks: [
    {
      at: '1,000 ids of tasks that have ended',
      elements: 1_000,
      call: ({ ended }) => usual('cancelTasks', { request_ids: ended.slice(0, 1_000) }),
    },
    {
      at: '1,000 ids of tasks that have ended, 100 with a result of 1 MiB',
      elements: 900 + LARGE_ENDED * BODY_KIB,
      call: ({ ended, large }) => usual('cancelTasks', { request_ids: [...large, ...ended.slice(0, 900)] }),
    },
    {
      at: '1,000 ids of tasks that run',
      elements: 1_000,
      commits: 1_000,
      call: (store, n) => usual('cancelTasks', { request_ids: thousandHeld(store, n) }),
    },
    {
      at: 'a filter that none of the looked at matches',
      elements: 1_000,
      call: () => usual('cancelTasks', { request_ids: undefined, filter: { type: 'none' } }),
    },
  ],
  getAgent: [{ at: 'with 2,000 tasks', elements: 100, call: () => usual('getAgent', {}, HOLDER) }],
  drainAgent: [{ at: 'with 2,000 tasks', elements: 100, commits: 1, call: drainByTurns }],
};
