/**
 * The operations of agents, one function each under the operation's own name; the body of each request
 * carries the secret. The client loads this file with the first call of one of them, so a page that only
 * submits tasks never loads it.
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

/** The calls of agents. `createAgent` makes all of them for you. */
export type AgentCalls = {
  /** Registers an agent, or replaces its registration. */
  registerAgent(registration: AgentRegistration, options?: CallOptions): Promise<RegistrationReceipt>;
  /**
   * Sends an agent's heartbeat. Throws `NotFoundError` (`agent_not_found`) if the agent is not registered.
   */
  heartbeatAgent(heartbeat: AgentHeartbeat, options?: CallOptions): Promise<HeartbeatReceipt>;
  /**
   * Claims a task for an agent registered as `pull`. Resolves to null if no task came within `wait` seconds
   * (at most 60).
   */
  claimTask(claim: TaskClaim, options?: CallOptions): Promise<Task | null>;
  /**
   * Reports a task's progress, success or failure. `accepted` is false if the task was already in a terminal
   * state.
   */
  reportResult(report: TaskReport, options?: CallOptions): Promise<ReportReceipt>;
  /**
   * Adds pieces to a task's output. The gateway skips pieces that it has stored already from this writer, so
   * a call may be repeated. Throws `ValidationError` if `from` is beyond the pieces that it has stored.
   */
  writeOutput(write: OutputWrite, options?: CallOptions): Promise<OutputReceipt>;
  /**
   * Claims the answer to a question that the agent has asked. Resolves to null if no answer came within
   * `wait` seconds (at most 60). Throws `BadRequestError` (`not_asked`) if the question was not asked, or was
   * withdrawn.
   */
  claimAnswer(claim: AnswerClaim, options?: CallOptions): Promise<QuestionAnswer | null>;
  /** Unregisters an agent. */
  unregisterAgent(departure: AgentDeparture, options?: CallOptions): Promise<DepartureReceipt>;
};

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
