/** The public entry `@task-gateway/sdk/testing`: it tests a handler by itself, without a test framework. */
export { type HandlerInput, type HandlerOutcome, runHandler } from './run-handler.ts';
