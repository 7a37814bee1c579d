/**
 * Sends a handler's progress and first reply to the gateway: in order, one report at a time, only the newest
 * values.
 */
import type { Clock } from '../clock.ts';
import { InvalidOptionError } from '../errors.ts';

/** What is reported of a running task. */
export type ProgressUpdate = { readonly progress?: number; readonly result?: { readonly reply: string } };

export type ProgressSender = {
  progress(percent: number): void;
  reply(text: string): void;
  /** Returns the first reply, if there was one. */
  firstReply(): string | undefined;
  /** Sends nothing more, and aborts the report that is being sent. */
  close(): void;
};

export type ProgressSenderDeps = {
  readonly clock: Clock;
  /** Sends one report. Resolves to false when the gateway no longer wants the task done. */
  readonly sendProgress: (update: ProgressUpdate, signal: AbortSignal) => Promise<boolean>;
  /** Called once when `sendProgress` has resolved to false; nothing is sent after it. */
  readonly onUnwanted: () => void;
  /** Called with an error for the first progress that is no number; no such progress is sent. */
  readonly onWrongProgress: (error: InvalidOptionError) => void;
};

/** The least time between two reports of one task. */
const SEND_EVERY_MS = 200;
const WRONG_PROGRESS = 'Progress must be a number from 0 to 100. It was not sent.';

export function createProgressSender(deps: ProgressSenderDeps): ProgressSender {
  const closing = new AbortController();
  const { signal } = closing;
  let highest: number | undefined;
  let first: string | undefined;
  let next: ProgressUpdate | undefined;
  let isSending = false;
  let isWrong = false;

  async function sendAll(): Promise<void> {
    if (isSending) return;
    isSending = true;
    while (next && !signal.aborted) {
      const update = next;
      next = undefined;
      if (!(await deps.sendProgress(update, signal))) {
        closing.abort();
        deps.onUnwanted();
        return;
      }
      await deps.clock.sleep(SEND_EVERY_MS, signal);
    }
    isSending = false;
  }

  return {
    progress(percent) {
      if (!Number.isFinite(percent)) {
        if (!isWrong) deps.onWrongProgress(new InvalidOptionError(WRONG_PROGRESS));
        isWrong = true;
        return;
      }
      const whole = Math.min(100, Math.max(0, Math.round(percent)));
      if (highest !== undefined && whole <= highest) return;
      highest = whole;
      next = { ...next, progress: whole };
      sendAll().catch(() => undefined);
    },
    reply(text) {
      if (first !== undefined || text === undefined || text === null) return;
      first = String(text);
      next = { ...next, result: { reply: first } };
      sendAll().catch(() => undefined);
    },
    firstReply: () => first,
    close: () => closing.abort(),
  };
}
