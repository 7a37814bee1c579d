/**
 * Each operation with its fields at their limits, as data: what it sends, and how many elements its reply or
 * its work has where it is a list. An operation of the document that has no row does not compile.
 */
import { HTTP_LIMITS } from '../../../server/http/http.ts';
import { buildCall, type Call, type OperationId } from '../../contract/usual-calls.ts';
import { ADMIN_SECRET, SECRET } from '../../harness/gateway-process.ts';
import { AGENTS, type FullStore, HOLDER, LONG, SESSION, SHARED } from './full-store.ts';

export type Row = {
  /** What is at its limit. */
  readonly at: string;
  /** The call of a round; each round has another number. */
  readonly call: (store: FullStore, round: number) => Call;
  /** What a list prints or works on; each element may take 0.1 ms. */
  readonly elements?: number;
};

const SECRETS = { gateway: SECRET, admin: ADMIN_SECRET };
/** As long as a body may be, with room for its other fields. */
const LARGE = { text: 'x'.repeat(HTTP_LIMITS.bodyBytesMax - 100_000) };
const IDS = Array.from({ length: 1_000 }, (_, n) => `unknown-${n}`);

const usual = (operationId: OperationId, body = {}, id?: string): Call =>
  buildCall(operationId, SECRETS, body, id);
const withQuery = (call: Call, query: string): Call => ({
  ...call,
  path: `${call.path}${call.path.includes('?') ? '&' : '?'}${query}`,
});

/** A task that waits for a second for an agent with one of 64 tags that none has. */
export const buildWaiting = (): Call => usual('submitTask', { task_tags: LONG, queue_timeout: 1 });

export const ROWS: { readonly [O in OperationId]: readonly [Row, ...Row[]] } = {
  submitTask: [
    {
      at: '64 tags that all agents share',
      call: () => usual('submitTask', { task_tags: [...SHARED, 'own-7'] }),
    },
    { at: '64 unknown tags of 256 characters', call: () => usual('submitTask', { task_tags: LONG }) },
    { at: 'the largest body', elements: 1_000, call: () => usual('submitTask', { payload: LARGE }) },
  ],
  getTask: [{ at: 'one of many', call: ({ ended }, n) => usual('getTask', {}, ended[n]) }],
  explainTask: [{ at: 'one of many', call: ({ ended }, n) => usual('explainTask', {}, ended[n]) }],
  previewMatch: [
    {
      at: '64 tags that all agents share',
      call: () => usual('previewMatch', { task_tags: [...SHARED, 'own-7'] }),
    },
    { at: '64 unknown tags of 256 characters', call: () => usual('previewMatch', { task_tags: LONG }) },
  ],
  cancelTask: [{ at: 'one that runs', call: ({ held }, n) => usual('cancelTask', {}, held[n]) }],
  subscribeEvents: [{ at: 'a full session', call: () => usual('subscribeEvents', {}, SESSION) }],
  registerAgent: [
    {
      at: '64 tags of 256 characters, 1,000 ids',
      elements: 1_000,
      call: (_, n) =>
        usual('registerAgent', { agent_id: `agent-${200 + n}`, agent_tags: LONG, request_ids: IDS }),
    },
  ],
  heartbeatAgent: [
    {
      at: '1,000 ids, of an agent with 1,000 tasks',
      elements: 1_000,
      call: ({ held }) => usual('heartbeatAgent', { agent_id: HOLDER, request_ids: held.slice(0, 1_000) }),
    },
  ],
  claimTask: [{ at: '1,000 tasks', call: () => usual('claimTask', { agent_id: HOLDER, wait: 0 }) }],
  reportResult: [
    {
      at: 'the largest body',
      elements: 1_000,
      call: ({ held }, n) =>
        usual('reportResult', { agent_id: HOLDER, request_id: held[100 + n], result: LARGE }),
    },
  ],
  unregisterAgent: [
    { at: 'one of 20,000', call: (_, n) => usual('unregisterAgent', { agent_id: `agent-${100 + n}` }) },
  ],
  listAgents: [{ at: 'all', elements: AGENTS, call: () => usual('listAgents') }],
  listTasks: [
    {
      at: '1,000',
      elements: 1_000,
      call: () => ({ ...usual('listTasks'), path: '/api/admin/tasks?limit=1000' }),
    },
  ],
  getOverview: [{ at: '1,000 tags', call: () => withQuery(usual('getOverview'), 'tags=1000') }],
  listTaskRows: [
    { at: '200 rows', elements: 200, call: () => withQuery(usual('listTaskRows'), 'limit=200') },
  ],
  countTasks: [{ at: 'all', elements: 1_000, call: () => usual('countTasks') }],
  cancelTasks: [
    {
      at: '1,000 ids',
      elements: 1_000,
      call: ({ ended }) => usual('cancelTasks', { request_ids: ended.slice(0, 1_000) }),
    },
  ],
  listAgentRows: [
    { at: '200 rows', elements: 200, call: () => withQuery(usual('listAgentRows'), 'limit=200') },
    {
      at: 'a tag that none of the looked at has',
      call: () => withQuery(usual('listAgentRows'), 'tag=own-19999'),
    },
  ],
  getAgent: [{ at: 'with 1,000 tasks', elements: 100, call: () => usual('getAgent', {}, HOLDER) }],
};
