/** How a handler's words on its progress reach the gateway: in order, one at a time, the newest only. */
import type { Clock } from '../clock.ts';
import { InvalidOptionError } from '../errors.ts';

/** What is told of a task that runs. */
export type News = { readonly progress?: number; readonly result?: { readonly reply: string } };

export type ProgressTeller = {
  progress(percent: number): void;
  reply(text: string): void;
  /** The first reply, if there was one. */
  replied(): string | undefined;
  /** Tells nothing more; what is on its way is given up. */
  close(): void;
};

/** Between two reports of one task. */
const EVERY_MS = 200;

/** Creates the teller of one task. `tell` answers false when nobody wants to know, which is passed on once. */
export function createProgressTeller(deps: {
  readonly clock: Clock;
  readonly tell: (news: News, signal: AbortSignal) => Promise<boolean>;
  readonly onUnwanted: () => void;
}): ProgressTeller {
  const closing = new AbortController();
  const { signal } = closing;
  let highest: number | undefined;
  let first: string | undefined;
  let next: News | undefined;
  let telling = false;

  async function tellAll(): Promise<void> {
    if (telling) return;
    telling = true;
    while (next && !signal.aborted) {
      const news = next;
      next = undefined;
      if (!(await deps.tell(news, signal))) {
        closing.abort();
        deps.onUnwanted();
        return;
      }
      await deps.clock.sleep(EVERY_MS, signal);
    }
    telling = false;
  }

  return {
    progress(percent) {
      if (!Number.isFinite(percent)) throw new InvalidOptionError('Progress is a number from 0 to 100.');
      const whole = Math.min(100, Math.max(0, Math.round(percent)));
      if (highest !== undefined && whole <= highest) return;
      highest = whole;
      next = { ...next, progress: whole };
      void tellAll();
    },
    reply(text) {
      if (first !== undefined) return;
      first = text;
      next = { ...next, result: { reply: text } };
      void tellAll();
    },
    replied: () => first,
    close: () => closing.abort(),
  };
}
