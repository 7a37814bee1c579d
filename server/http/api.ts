/**
 * The API, put together: the operations of the document with their handlers, and what decides about secrets,
 * names and origins. It knows no transport: the HTTP server and the simulator put theirs around it.
 */
import type { LargeWork } from '../async/large-work.ts';
import type { Gateway } from '../ports/gateway.ts';
import type { Log } from '../ports/log.ts';
import { type Answers, type CorsOrigins, createAnswers, type HostRule } from './answers.ts';
import { createAdminHandlers } from './operations/admin.ts';
import { type AgentHandlerSettings, createAgentHandlers } from './operations/agents.ts';
import { createClientHandlers } from './operations/clients.ts';
import type { Handlers } from './operations/handlers.ts';
import { createOutputHandlers, type OutputLimits } from './operations/output.ts';
import type { Contract } from './request/contract.ts';
import { createSecrets, type Secrets } from './request/secrets.ts';
import { createServe, type Serve } from './serve.ts';
import {
  type AnyHandler,
  type OperationDeps,
  type ServedOperation,
  serveOperation,
} from './serve-operation.ts';
import type { StreamLimits } from './stream/admission.ts';

/** The limits of the contract that no transport has a part in. */
export const API_LIMITS: ApiLimits & StreamLimits = {
  bodyBytesMax: 1024 * 1024,
  outputBodyBytesMax: 64 * 1024,
  outputWritingBytesMax: 8 * 1024 * 1024,
  depthMax: 100,
  keysMax: 20_000,
  partsMax: 20_000,
  streamsMax: 20_000,
  streamsOfOneMax: 100,
};

type ApiLimits = OperationDeps['limits'] & OutputLimits;

export type ApiDeps = {
  readonly contract: Contract;
  readonly gateway: Gateway;
  /** The secrets that are accepted: two of each while one is being changed, else one. */
  readonly secrets: { readonly gateway: readonly string[]; readonly admin: readonly string[] };
  readonly limits: ApiLimits;
  readonly settings: AgentHandlerSettings & {
    /** Whether heartbeat, report and unregister must carry the secret. */
    readonly isAgentAuthRequired: boolean;
    readonly corsOrigins: CorsOrigins;
  };
  readonly hostRule: HostRule;
  readonly log: Pick<Log, 'error'>;
  readonly largeWork: LargeWork;
  /** Fires when the server drains. */
  readonly draining: AbortSignal;
  /** Stands before an operation: the simulator's faults. */
  readonly surround?: (operation: ServedOperation, answers: Answers) => ServedOperation;
};

export type Api = {
  readonly serve: Serve;
  readonly answers: Answers;
  readonly secrets: Secrets;
};

/** Puts it together. Throws when an operation of the document has no handler. */
export function createApi(deps: ApiDeps): Api {
  const { contract, settings, surround = (operation) => operation } = deps;
  const answers = createAnswers({
    version: contract.version,
    corsOrigins: settings.corsOrigins,
    hostRule: deps.hostRule,
    log: deps.log,
  });
  const secrets = createSecrets(deps.secrets);
  const { isAgentAuthRequired } = settings;
  const operations = joinOperations(deps, { ...deps, secrets, isAgentAuthRequired, answers });
  return {
    serve: createServe(
      answers,
      operations.map((operation) => surround(operation, answers)),
    ),
    answers,
    secrets,
  };
}

/** Joins each operation of the document with its handler; throws when one has none. */
function joinOperations(
  { contract, gateway, limits, settings }: ApiDeps,
  deps: OperationDeps,
): readonly ServedOperation[] {
  const handlers: Handlers = {
    ...createClientHandlers(gateway),
    ...createAgentHandlers(gateway, settings),
    ...createOutputHandlers(gateway, limits),
    ...createAdminHandlers(gateway, contract.version),
  };
  return contract.operations.map((operation) => {
    const handler = handlers[operation.operationId] as AnyHandler | undefined;
    if (!handler)
      throw new Error(`The document has an operation without a handler: ${operation.operationId}.`);
    return serveOperation(deps, operation, handler);
  });
}
