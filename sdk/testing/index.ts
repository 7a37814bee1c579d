/** The public entry `@task-gateway/sdk/testing`: for tests of clients and agents. It needs no test framework. */
export { createFakeGateway, type FakeGateway, type FakeGatewayOptions } from './gateway.ts';
export { type HandlerInput, type HandlerOutcome, runHandler } from './run-handler.ts';
