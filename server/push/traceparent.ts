/** The trace of a push whose task was submitted without one. */
import { randomBytes } from 'node:crypto';

/** Digits of one trace context: 32 of the trace, 16 of its first span. */
const TRACE_DIGITS = 48;
/** To draw random bytes costs the same for a hundred pushes as for one. */
const TRACES_DRAWN = 100;
let digits = '';

/**
 * Creates a W3C trace context for a trace that begins here. It is marked as sampled, so that an agent's
 * tracing that follows the parent's decision records it.
 */
export function createTraceparent(): string {
  if (digits === '') digits = randomBytes((TRACE_DIGITS / 2) * TRACES_DRAWN).toString('hex');
  const traceparent = `00-${digits.slice(0, 32)}-${digits.slice(32, TRACE_DIGITS)}-01`;
  digits = digits.slice(TRACE_DIGITS);
  return traceparent;
}
