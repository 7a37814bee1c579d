/** What those who write an agent import: `@task-gateway/sdk/agent`. Runs on Node 20.19 or newer. */
export { type Agent, type AgentOptions, createAgent } from './agent.ts';
export type { ListenOptions } from './inbox.ts';
export type { AgentDuty, AgentNotice } from './notice.ts';
export { isAuthentic, type SignedPush } from './signature.ts';
export type { Handler, HandlerAnswer, HandlerContext } from './work.ts';
