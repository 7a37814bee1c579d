/** Creates the trace of a push whose task was submitted without one. */
import { randomBytes } from 'node:crypto';

/** Digits of one trace context: 32 for the trace, 16 for its first span. */
const TRACE_DIGITS = 48;
/** How many traces are drawn at once: random bytes cost the same for a hundred as for one. */
const TRACES_DRAWN = 100;
let digits = '';

/**
 * Creates a W3C trace context for a trace that begins here. It is marked as sampled, so that an agent whose
 * tracing follows the parent records it.
 */
export function createTraceparent(): string {
  if (digits === '') digits = randomBytes((TRACE_DIGITS / 2) * TRACES_DRAWN).toString('hex');
  const traceparent = `00-${digits.slice(0, 32)}-${digits.slice(32, TRACE_DIGITS)}-01`;
  digits = digits.slice(TRACE_DIGITS);
  return traceparent;
}
