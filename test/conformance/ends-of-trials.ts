/** What every check of clients requires of a trial: how it ended, and what happened to its streams. */

import { RETRY_AFTER_SECONDS } from './client-scenarios.ts';
import { isEqual, isFields, NotScored, printValue, requireEqual, requireThat } from './findings.ts';
import { tellPrinted } from './started-command.ts';
import type { Received } from './trial-gateway.ts';
import type { Trial } from './trials-of-clients.ts';

/** Clocks may differ by this part of a pause. */
const PAUSE_PART = 0.95;

export function requireEnd(trial: Trial): void {
  const { hasEnded, limitMs } = trial;
  requireThat(hasEnded, `The client still runs after ${limitMs / 1_000} s.${tellPrinted(trial.printed)}`);
}

/** Whether the client printed the result as JSON, the task with it, or the text of its `output`. */
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

/** Requires that the client ended with exit code 0 and printed the result of its task. */
export function requireSuccess(trial: Trial): void {
  requireEnd(trial);
  const { exitCode, output, result } = trial;
  requireThat(
    exitCode === 0,
    `The task succeeded, and the client ended with ${exitCode ?? 'a signal'}.${tellPrinted(trial.printed)}`,
  );
  requireThat(
    isResult(output, trial),
    `The client printed ${printValue(output)}; the result is ${printValue(result)}.`,
  );
}

/** Requires that the client ended and said by its exit code that there is no result. */
export function requireFailure(trial: Trial, what: string): void {
  requireEnd(trial);
  requireThat(trial.exitCode !== 0, `${what}, and the client ended with 0.`);
  requireThat(!isResult(trial.output, trial), `${what}, and the client printed a result.`);
}

/** Returns the client's streams of one kind; by default of its session, or else of its task's output. */
export function streamsOf({ gateway }: Trial, kind?: 'events' | 'stream'): readonly Received[] {
  const [events, outputs] = [gateway.calls('events'), gateway.calls('stream')];
  const streams = kind ? gateway.calls(kind) : events.length > 0 ? events : outputs;
  const of = { events: ' of its session', stream: ' of the output of its task' };
  if (streams.length === 0) throw new NotScored(`The client opens no stream${kind ? of[kind] : ''}.`);
  return streams;
}

/** Requires that a client with a stream has the result of its task. */
export function requireRead(trial: Trial): void {
  streamsOf(trial);
  requireSuccess(trial);
}

/**
 * Requires that the client opened every stream behind the last whole frame of the one before, that each
 * stream had one more frame, and that the result was not lost. A client that also reads pages of an output
 * may be further.
 */
export function requireResumed(trial: Trial, [first, ...again]: readonly Received[]): void {
  requireSuccess(trial);
  if (again.length === 0)
    throw new NotScored('The client did not open the stream again: it had the result before.');
  const ids = trial.gateway.ids(first?.operation ?? '');
  const [page] = trial.gateway.calls('page');
  for (const [index, { headers, url, atMs }] of again.entries()) {
    const { searchParams } = url;
    const id = headers['last-event-id'] || (searchParams.get('last_event_id') ?? searchParams.get('after'));
    const isFurther = page !== undefined && page.atMs < atMs && ids.indexOf(String(id)) > index;
    if (!isFurther) requireEqual(id ?? undefined, ids[index], `\`Last-Event-ID\` of stream ${index + 2}`);
  }
}

/** Requires that the calls were at least as far apart as `Retry-After` said. */
export function requirePause([first, second]: readonly Received[], what: string): void {
  if (!first || !second) return;
  const seconds = (second.atMs - first.atMs) / 1_000;
  requireThat(
    seconds >= RETRY_AFTER_SECONDS * PAUSE_PART,
    `\`Retry-After\` said ${RETRY_AFTER_SECONDS} seconds, and ${what} was repeated after ${seconds.toFixed(2)}.`,
  );
}
