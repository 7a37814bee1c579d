/**
 * The note of the overview that tasks wait for an answer. It names the task that has waited longest, so only
 * one task is read, however many wait.
 */
import { findOpenQuestion } from '../../../domain/asking.ts';
import type { OverviewProblem } from '../../../ports/admin.ts';
import type { Store } from '../../../ports/store.ts';
import { readIfWhole } from '../../tasks/read-task.ts';
import { countOf, createProblem, describeSince } from './problem-words.ts';

/** The open question that was asked before all others, with its task. */
export type FirstQuestion = {
  readonly request_id: string;
  readonly agent_id: string | null;
  readonly key: string;
  readonly askedMs: number;
  readonly deadlineMs: number;
};

/** Finds the question that was asked first; null if no task waits for an answer. */
export async function findFirstQuestion(store: Pick<Store, 'list' | 'get'>): Promise<FirstQuestion | null> {
  const [first] = (await store.list('waitingForAnswer', {}, { limit: 1 })).items;
  const state = first && (await readIfWhole(store, first.request_id))?.value;
  // The question may have been answered since the listing was read.
  const question = state && findOpenQuestion(state);
  if (!question) return null;
  const { agent_id, deadlineMs } = state;
  const { key, askedMs } = question;
  return { request_id: first.request_id, agent_id, key, askedMs, deadlineMs };
}

/** Describes the note. `count` is how many tasks wait for an answer. */
export function describeFirstQuestion(
  { request_id, agent_id, key, askedMs, deadlineMs }: FirstQuestion,
  count: number,
  nowMs: number,
): OverviewProblem {
  const waits = `${countOf(count, 'task')} ${count === 1 ? 'waits' : 'wait'} for an answer`;
  const age = describeSince(nowMs, askedMs);
  const asked = `agent \`${agent_id}\` asked for \`${key}\` ${age} ago`;
  const fails = `fails in ${describeSince(deadlineMs, nowMs)} at the latest`;
  return createProblem('waiting_for_answer', 'note', {
    since: askedMs / 1_000,
    text:
      count === 1 ? `${waits}: ${asked}, and it ${fails}.` : `${waits}. First ${asked}; that task ${fails}.`,
    help: 'Answer with `POST /api/cli/tasks/{request_id}/answer`, or cancel it.',
    request_id,
    count,
  });
}
