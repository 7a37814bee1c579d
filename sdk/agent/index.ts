/** What those who write an agent import: `@task-gateway/sdk/agent`. Runs on Node 20.19 or newer. */
export { type Agent, createAgent, type StopOptions } from './agent.ts';
export type { AgentDuty, AgentNotice } from './log-events.ts';
export type { AgentOptions } from './options.ts';
export { type RunAgentOptions, runAgent } from './run-agent.ts';
export type { ListenOptions } from './server.ts';
export { isAuthentic, type SignedPush } from './signature.ts';
export { type StopCode, WorkStoppedError } from './stopped.ts';
export type { Handler, HandlerAnswer, HandlerContext } from './work.ts';
