/**
 * The calls of agents, those of administrators, and those that explain. The first one loads the code of all,
 * so a page that only submits tasks never loads it.
 */
import { type AdminCalls, type Ask, createAdminCalls } from './admin-calls.ts';
import { type AgentCalls, createAgentCalls } from './agent-calls.ts';
import type {
  AnswerReceipt,
  MatchPreview,
  MatchQuery,
  QuestionAnswer,
  RequestId,
  TaskExplanation,
} from './contract.ts';
import { requireId } from './ids.ts';
import { checkAnswerReceipt, checkExplanation, checkMatchPreview } from './later-responses.ts';
import type { CallsDeps, createSend } from './sending.ts';
import type { CallOptions } from './transport.ts';

type Send = ReturnType<typeof createSend>;

/** The calls that share a chunk of code, which the first of them loads. */
export type LaterCalls = AdminCalls &
  AgentCalls & {
    /**
     * Explains a task: what happened to it, which agents qualify for it, and what to do if it does not run. A
     * client without `auth` needs `adminAuth` for it, as for `getTask` and `previewMatch`.
     */
    explainTask(request_id: RequestId, options?: CallOptions): Promise<TaskExplanation>;
    /**
     * Sends the answer to an open question of a task's agent. Throws `ValidationError` if the answer violates
     * the question's schema. Throws `BadRequestError`: `not_asked` if no such question is open or somebody
     * answered it otherwise, `task_terminal` if the task is over. Sending the same answer again is no error.
     */
    answerTask(request_id: RequestId, answer: QuestionAnswer, options?: CallOptions): Promise<AnswerReceipt>;
    /** Returns which agents would qualify for a task with these tags, without submitting one. */
    previewMatch(query: MatchQuery, options?: CallOptions): Promise<MatchPreview>;
  };

export function createLaterCalls(ask: Ask, send: Send, { readsBy }: Pick<CallsDeps, 'readsBy'>): LaterCalls {
  return {
    ...createAdminCalls(ask, send),
    ...createAgentCalls(ask, send),

    explainTask: (request_id, options) =>
      send(options, readsBy, checkExplanation, (init) =>
        ask('get', '/api/cli/tasks/{request_id}/explain', {
          ...init,
          params: { path: { request_id: requireId(request_id) } },
        }),
      ),

    answerTask: (request_id, { key, answer }, options) =>
      send(options, 'authorization', checkAnswerReceipt, (init) =>
        ask('post', '/api/cli/tasks/{request_id}/answer', {
          ...init,
          params: { path: { request_id: requireId(request_id) } },
          body: { key, answer },
        }),
      ),

    // If the administrator's secret is sent, in a header, `auth` is undefined and JSON leaves it out.
    previewMatch: (query, options) =>
      send(options, readsBy, checkMatchPreview, (init, secret) =>
        ask('post', '/api/cli/match', {
          ...init,
          body: readsBy === 'authorization' ? { ...query, auth: secret } : query,
        }),
      ),
  };
}
