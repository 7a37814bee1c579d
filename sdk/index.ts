/** The public entry `@task-gateway/sdk`: the client. It runs on Node 20.19 or newer and in browsers. */
export type {
  AdminCalls,
  AgentQuery,
  OverviewQuery,
  TaggedReadOptions,
  TaskQuery,
} from './admin-calls.ts';
export type { Calls } from './calls.ts';
export { createClient, type TaskGatewayClient } from './client.ts';
export type { Clock } from './clock.ts';
export type * from './contract.ts';
export type { ErrorCode } from './error-codes.ts';
export {
  AbortError,
  ApiError,
  AuthenticationError,
  BadRequestError,
  ConnectionError,
  ForbiddenError,
  InternalError,
  InvalidOptionError,
  MisdirectedError,
  NotFoundError,
  PayloadTooLargeError,
  RateLimitError,
  TaskGatewayError,
  TimeoutError,
  UnavailableError,
  UnsupportedMediaTypeError,
  ValidationError,
} from './errors.ts';
export type { Logger, LogLevel } from './log.ts';
export type { FollowOptions, RunOptions } from './run.ts';
export type { Secret } from './secrets.ts';
export type { ClientOptions } from './settings.ts';
export type { FeedNotice } from './stream/follow.ts';
export type { OutputReading, ReadOutputOptions } from './stream/output.ts';
export type { OnQuestion } from './stream/questions.ts';
export type { EventSubscription, SubscribeOptions } from './stream/subscription.ts';
export {
  NoAgentAvailableError,
  TaskCancelledError,
  TaskFailedError,
  TaskTimeoutError,
} from './task-errors.ts';
export type { CallOptions, Fetch } from './transport.ts';
