/**
 * The names of options, so that plain JavaScript gets a warning for a misspelt one, as TypeScript gets an
 * error. The type check of `test/sdk/compiler.test-d.ts` shows that the lists are complete.
 */

/** The options of a client. */
export const CLIENT_OPTION_NAMES = [
  ...(['baseUrl', 'auth', 'adminAuth', 'timeoutMs', 'maxRetries', 'maxResponseBytes', 'headers'] as const),
  ...(['traceparent', 'logLevel', 'logger', 'fetch', 'clock'] as const),
] as const;
/** The options of all calls, of runs and of subscriptions. */
export const CALL_OPTION_NAMES = [
  ...(['signal', 'timeoutMs', 'maxRetries', 'headers', 'onResponse', 'idempotencyKey', 'wait'] as const),
  ...(['traceparent', 'tracestate'] as const),
  ...(['onProgress', 'cancelOnAbort', 'lastEventId', 'onNotice', 'idleMs'] as const),
  ...(['onOutput', 'onQuestion', 'after', 'follow', 'withStatus'] as const),
] as const;
/** The fields of a submission. */
export const SUBMISSION_FIELD_NAMES = [
  ...(['task_type', 'task_tags', 'payload', 'cli_session_id', 'timeout', 'queue_timeout'] as const),
] as const;

const WARNINGS_MAX = 100;
const warnings = new Set<string>();

/** Prints one warning for each name that `known` lacks. `owner` says whose names they are, in the plural. */
export function warnOfUnknownNames(owner: string, given: object | undefined, names: readonly string[]): void {
  for (const name of Object.keys(given ?? {})) {
    const warning = `task-gateway: ${owner} have no "${name}", it does nothing. They have ${names.join(', ')}.`;
    if (names.includes(name) || warnings.has(warning) || warnings.size === WARNINGS_MAX) continue;
    warnings.add(warning);
    console.warn(warning);
  }
}
