/** The checks of clients that read the output of their tasks, and answer questions. */
import { requireEnd, requireResumed, requireSuccess, streamsOf } from './ends-of-trials.ts';
import { NotScored, printValue, requireEqual, requireThat } from './findings.ts';
import type { Received } from './trial-gateway.ts';
import type { ClientCheck, Trial } from './trials-of-clients.ts';

/** Returns the answers that the client sent. Without any the requirement is not scored. */
function answersOf({ gateway }: Trial): readonly Received[] {
  const answers = gateway.calls('answer');
  if (answers.length === 0) throw new NotScored('The client answers no question.');
  return answers;
}

/** Requires that the client shows the agent's texts once, if it shows them at all. */
function requireShownOnce({ printed, texts }: Trial): void {
  const counts = texts.map((text) => printed.split(text).length - 1);
  if (counts.every((count) => count === 0)) throw new NotScored('The client prints no output.');
  requireThat(
    counts.every((count) => count === 1),
    `The client printed the ${texts.length} texts of its agent ${printValue(counts)} times.`,
  );
}

export const READING_CHECKS: Readonly<Record<string, ClientCheck>> = {
  'as-client.output-resumes'(look) {
    const trial = look('cutInside');
    requireResumed(trial, streamsOf(trial, 'stream'));
  },
  'as-client.output-once'(look) {
    for (const trial of [look('allAgain'), look('cutInside')]) {
      streamsOf(trial, 'stream');
      requireShownOnce(trial);
    }
  },
  'as-client.output-end'(look) {
    const trial = look('cutOwn');
    streamsOf(trial, 'stream');
    requireSuccess(trial);
  },
  'as-client.output-answers-again'(look) {
    const trial = look('asked');
    const [first, ...again] = answersOf(trial);
    requireThat(again.length > 0, 'An answer that got no response was not repeated.');
    for (const { body } of again) requireEqual(body, first?.body, 'The repeated answer');
    requireSuccess(trial);
  },
  'as-client.output-answers-once'(look) {
    const [late, vain] = [look('askedLate'), look('askedInVain')];
    for (const { length } of [answersOf(late), answersOf(vain)])
      requireThat(length === 1, `An answer that was refused was sent ${length} times.`);
    requireSuccess(late);
    requireEnd(vain);
  },
};
