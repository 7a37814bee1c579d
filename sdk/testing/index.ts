/** The public entry `@task-gateway/sdk/testing`: tests of a handler by itself, without a test framework. */
export { type HandlerInput, type HandlerOutcome, runHandler } from './run-handler.ts';
