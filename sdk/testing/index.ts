/** The public entry `@task-gateway/sdk/testing`: tests of clients and agents, without a test framework. */
export { createFakeGateway, type FakeGateway, type FakeGatewayOptions } from './gateway.ts';
export { type HandlerInput, type HandlerOutcome, runHandler } from './run-handler.ts';
