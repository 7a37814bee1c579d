/** The public entry `@task-gateway/sdk/agent`: the agent. It runs on Node 20.19 or newer. */
export type { StopCode } from '../error-codes.ts';
export { WorkStoppedError } from '../errors.ts';
export { type Agent, createAgent, type StopOptions } from './agent.ts';
export type { Handler, HandlerAnswer, HandlerContext } from './handler.ts';
export type { AgentDuty, AgentNotice } from './log-events.ts';
export type { AgentOptions } from './options.ts';
export type { QuestionOptions } from './questions.ts';
export { type RunAgentOptions, runAgent } from './run-agent.ts';
export type { ListenOptions } from './server.ts';
export { isAuthentic, type SignedPush } from './signature.ts';
