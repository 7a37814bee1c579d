/**
 * The form of a submission: the typed texts, what is wrong with each, and the submission they make. Pure. The
 * limits are the contract's.
 */
import { findChangedNumber } from '../../../../sdk/numbers.ts';
import type { Submission } from '../submission/copy-as.ts';

/** The fields as they are typed. */
export type Draft = {
  readonly task_type: string;
  readonly task_tags: readonly string[];
  readonly cli_session_id: string;
  readonly payload: string;
  readonly timeout: string;
  readonly queue_timeout: string;
};
export type DraftField = keyof Draft;
/** A checked draft: a submission, or for each wrong field a sentence. */
export type CheckedDraft = {
  readonly submission: Submission | null;
  readonly faults: Readonly<Partial<Record<DraftField, string>>>;
};

export const EMPTY_DRAFT: Draft = {
  task_type: '',
  task_tags: [],
  cli_session_id: '',
  payload: '{}',
  timeout: '600',
  queue_timeout: '',
};
const NAME_MAX = 256;
const TAGS_MAX = 64;

/** Turns an earlier submission into a draft. */
export function draftOf(submission: Submission): Draft {
  const { task_type, task_tags, cli_session_id, timeout, queue_timeout, payload } = submission;
  return {
    task_type,
    task_tags,
    cli_session_id: cli_session_id ?? '',
    payload: JSON.stringify(payload, null, 2),
    timeout: timeout === undefined ? '' : String(timeout),
    queue_timeout: queue_timeout === undefined ? '' : String(queue_timeout),
  };
}

export function validateDraft(draft: Draft): CheckedDraft {
  const payload = readPayload(draft.payload);
  const timeout = readSeconds(draft.timeout);
  const queue_timeout = readSeconds(draft.queue_timeout);
  const faults: Partial<Record<DraftField, string>> = {};
  if (draft.task_type === '') faults.task_type = 'Write a type; agents receive it as it is.';
  else if (lengthOf(draft.task_type) > NAME_MAX) faults.task_type = `At most ${NAME_MAX} characters.`;
  if (lengthOf(draft.cli_session_id) > NAME_MAX) faults.cli_session_id = `At most ${NAME_MAX} characters.`;
  const tagFault = findTagFault(draft.task_tags);
  if (tagFault !== null) faults.task_tags = tagFault;
  if (payload.fault !== null) faults.payload = payload.fault;
  if (timeout === null || timeout === 0) faults.timeout = 'Write a number of seconds above 0, such as 600.';
  if (queue_timeout === null) faults.queue_timeout = 'Write a number of seconds, such as 120, or nothing.';
  if (Object.keys(faults).length > 0 || payload.value === null) return { submission: null, faults };
  const submission: Submission = {
    task_type: draft.task_type,
    task_tags: draft.task_tags,
    payload: payload.value,
    ...(draft.cli_session_id === '' ? {} : { cli_session_id: draft.cli_session_id }),
    ...(typeof timeout === 'number' ? { timeout } : {}),
    ...(typeof queue_timeout === 'number' ? { queue_timeout } : {}),
  };
  return { submission, faults };
}

/** Says why tags are refused; null if they are not. */
function findTagFault(tags: readonly string[]): string | null {
  if (tags.length > TAGS_MAX) return `At most ${TAGS_MAX} tags.`;
  if (tags.some((tag) => lengthOf(tag) > NAME_MAX)) return `A tag has at most ${NAME_MAX} characters.`;
  return null;
}

/** Counts as the contract does: characters, not UTF-16 units. */
function lengthOf(text: string): number {
  return [...text].length;
}

/** Reads seconds; undefined for an empty field, null for a text that is no number. */
function readSeconds(text: string): number | undefined | null {
  const typed = text.trim();
  if (typed === '') return undefined;
  if (!/^\d+(\.\d+)?$/.test(typed)) return null;
  return Number(typed);
}

function readPayload(text: string): { readonly value: object | null; readonly fault: string | null } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { value: null, fault: text.trim() === '' ? EMPTY_PAYLOAD : describeFault(String(error)) };
  }
  const changed = findChangedNumber(text);
  if (changed !== undefined) {
    const arrives = JSON.stringify(Number(changed));
    return {
      value: null,
      fault: `${changed} would arrive as ${arrives}. Put it in double quotes, as a text.`,
    };
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { value, fault: null };
  return { value: null, fault: 'A payload is an object: begin with { and end with }.' };
}

const EMPTY_PAYLOAD = 'Nothing is here. Write {} for an empty payload.';

/**
 * Shortens the message of the browser's JSON parser, with the line if it names one: `Line 2: Expected ':'
 * after …`.
 */
export function describeFault(said: string): string {
  const line = /\bline (\d+)/.exec(said)?.[1];
  const words = said
    .replace(/^SyntaxError: (?:JSON\.parse: |JSON Parse error: )?/, '')
    .replace(/(?: in JSON)? at (?:position|line) \d+.*$/s, '');
  return `${line === undefined ? 'Not JSON' : `Line ${line}`}: ${words}.`;
}
