/** Errors of the SDK in a few words, for people. */
import { ApiError, ConnectionError, TaskGatewayError, TimeoutError } from '@task-gateway/sdk';

/** Describes an error: `HTTP 503, busy`, `connection failed`. */
export function describeError(error: unknown): string {
  if (error instanceof ApiError) return `HTTP ${error.status}, ${error.code}`;
  if (error instanceof TimeoutError) return `no response within ${Math.round(error.timeoutMs / 1000)} s`;
  if (error instanceof ConnectionError) return error.code.replaceAll('_', ' ');
  if (error instanceof TaskGatewayError) return error.message;
  return error instanceof Error ? error.message : String(error);
}
