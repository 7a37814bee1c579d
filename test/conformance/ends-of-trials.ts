/** What every check of clients asks of a trial: how it ended, and what it did with its streams. */
import { isEqual, isFields, NotScored, printValue, requireEqual, requireThat } from './findings.ts';
import { idAt } from './gateway-of-clients.ts';
import type { Received } from './played-server.ts';
import { RETRY_AFTER_SECONDS, type Trial } from './trials-of-clients.ts';

/** Clocks may differ by this part of a pause. */
const PAUSE_PART = 0.95;

const printedIn = ({ printed }: Trial): string => (printed === '' ? '' : ` It printed: ${printed}`);

function requireEnd(trial: Trial): void {
  const { hasEnded, limitMs } = trial;
  requireThat(hasEnded, `The client still runs after ${limitMs / 1_000} s.${printedIn(trial)}`);
}

/** What was printed is the result as JSON, the task with it, or the text of its `output`. */
function isResult(output: string, { result }: Trial): boolean {
  const text = output.trim();
  if (text === result.output) return true;
  try {
    const value: unknown = JSON.parse(text);
    const printed = isFields(value) && isFields(value.result) ? value.result : value;
    return printed === result.output || isEqual(printed, result);
  } catch {
    return false;
  }
}

/** The client ended well, and printed the result of its task. */
export function requireSuccess(trial: Trial): void {
  requireEnd(trial);
  const { exitCode, output, result } = trial;
  requireThat(
    exitCode === 0,
    `The task succeeded, and the client ended with ${exitCode ?? 'a signal'}.${printedIn(trial)}`,
  );
  requireThat(
    isResult(output, trial),
    `The client printed ${printValue(output)}; the result is ${printValue(result)}.`,
  );
}

/** The client ended, and said by its exit code that there is no result. */
export function requireFailure(trial: Trial, what: string): void {
  requireEnd(trial);
  requireThat(trial.exitCode !== 0, `${what}, and the client ended with 0.`);
  requireThat(!isResult(trial.output, trial), `${what}, and the client printed a result.`);
}

/** The streams that the client opened; not scored where there are none. */
export function streamsOf({ gateway }: Trial): readonly Received[] {
  const streams = gateway.calls('events');
  if (streams.length === 0) throw new NotScored('The client opens no stream.');
  return streams;
}

/** A client with a stream has the result of its task. */
export function requireRead(trial: Trial): void {
  streamsOf(trial);
  requireSuccess(trial);
}

/**
 * Every stream was opened again behind the last whole event of the one before, of which each had one more;
 * the result was not lost.
 */
export function requireResumed(trial: Trial): void {
  const [, ...again] = streamsOf(trial);
  requireSuccess(trial);
  if (again.length === 0)
    throw new NotScored('The client did not open the stream again: it had the result before.');
  for (const [index, { headers, url }] of again.entries()) {
    const id = headers['last-event-id'] || url.searchParams.get('last_event_id');
    requireEqual(id ?? undefined, idAt(index), `\`Last-Event-ID\` of stream ${index + 2}`);
  }
}

/** The calls came at least as long one after the other as `Retry-After` said. */
export function requirePause([first, second]: readonly Received[], what: string): void {
  if (!first || !second) return;
  const seconds = (second.atMs - first.atMs) / 1_000;
  requireThat(
    seconds >= RETRY_AFTER_SECONDS * PAUSE_PART,
    `\`Retry-After\` said ${RETRY_AFTER_SECONDS} seconds, and ${what} was repeated after ${seconds.toFixed(2)}.`,
  );
}
