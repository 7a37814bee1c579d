/** What those import who test their clients and agents: `@task-gateway/sdk/testing`. No network and no test framework. */
export { createFakeGateway, type FakeGateway, type FakeGatewayOptions } from './gateway.ts';
export { type HandlerInput, type HandlerOutcome, runHandler } from './handler.ts';
