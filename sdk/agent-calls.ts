/**
 * The operations of agents, one function each under the operation's own name; the body of each carries the
 * secret. They are loaded with the first call of one of them: a page that only submits tasks does not load
 * them.
 */
import type { paths } from '@task-gateway/contract';
import type { Ask } from './admin-calls.ts';
import type {
  AgentDeparture,
  AgentHeartbeat,
  AgentId,
  AgentRegistration,
  AnswerClaim,
  DepartureReceipt,
  HeartbeatReceipt,
  OutputReceipt,
  OutputWrite,
  QuestionAnswer,
  RegistrationReceipt,
  ReportReceipt,
  Task,
  TaskClaim,
  TaskReport,
} from './contract.ts';
import { mayHaveTakenEffect } from './errors.ts';
import {
  checkAnswer,
  checkClaim,
  checkDepartureReceipt,
  checkHeartbeatReceipt,
  checkOutputReceipt,
  checkRegistrationReceipt,
  checkReportReceipt,
} from './later-responses.ts';
import type { Guard } from './responses.ts';
import type { createSend } from './sending.ts';
import type { CallOptions } from './transport.ts';

type AgentPath = Extract<keyof paths, `/api/agent/${string}`>;
type Send = ReturnType<typeof createSend>;

/** The calls of agents. `createAgent` makes all of them by itself. */
export type AgentCalls = {
  /** Registers an agent, or replaces its registration. */
  registerAgent(registration: AgentRegistration, options?: CallOptions): Promise<RegistrationReceipt>;
  /**
   * Sends an agent's heartbeat. Throws `NotFoundError` (`agent_not_found`) if the agent is not registered.
   */
  heartbeatAgent(heartbeat: AgentHeartbeat, options?: CallOptions): Promise<HeartbeatReceipt>;
  /**
   * Claims a task for an agent registered as `pull`; null if none came within `wait` (seconds, over
   * 60 counts as 60).
   */
  claimTask(claim: TaskClaim, options?: CallOptions): Promise<Task | null>;
  /**
   * Reports progress, success or failure of a task. `accepted` is false if it was in a terminal state
   * already.
   */
  reportResult(report: TaskReport, options?: CallOptions): Promise<ReportReceipt>;
  /**
   * Adds pieces to a task's output. Pieces that this writer has stored already are skipped, so a call may be
   * repeated. Throws `ValidationError` if `from` is more than this writer has stored.
   */
  writeOutput(write: OutputWrite, options?: CallOptions): Promise<OutputReceipt>;
  /**
   * Claims the answer to a question that the agent has asked; null if none came within `wait` (seconds, over
   * 60 counts as 60). Throws `BadRequestError` (`not_asked`) if the question was not asked, or was withdrawn.
   */
  claimAnswer(claim: AnswerClaim, options?: CallOptions): Promise<QuestionAnswer | null>;
  /** Unregisters an agent. */
  unregisterAgent(departure: AgentDeparture, options?: CallOptions): Promise<DepartureReceipt>;
};

/** Creates the calls. */
export function createAgentCalls(ask: Ask, send: Send): AgentCalls {
  const post =
    <Data>(path: AgentPath, check: Guard<Data>) =>
    (body: { readonly agent_id: AgentId; readonly wait?: number }, options?: CallOptions): Promise<Data> =>
      send(
        options,
        'body',
        check,
        (init, auth) => ask('post', path, { ...init, body: { ...body, auth } }),
        body.wait,
      );
  const claim = post('/api/agent/claim', checkClaim);
  const claimAnswer = post('/api/agent/answer', checkAnswer);
  const unregister = post('/api/agent/unregister', checkDepartureReceipt);
  return {
    registerAgent: post('/api/agent/register', checkRegistrationReceipt),
    heartbeatAgent: post('/api/agent/heartbeat', checkHeartbeatReceipt),
    reportResult: post('/api/agent/result', checkReportReceipt),
    writeOutput: post('/api/agent/output', checkOutputReceipt),
    claimTask: async (body, options) => (await claim(body, options)) ?? null,
    claimAnswer: async (body, options) => (await claimAnswer(body, options)) ?? null,

    async unregisterAgent(departure, options) {
      try {
        return await unregister(departure, options);
      } catch (error) {
        if (!mayHaveTakenEffect(error, 'agent_not_found')) throw error;
        return { ok: true, agent_id: departure.agent_id };
      }
    },
  };
}
