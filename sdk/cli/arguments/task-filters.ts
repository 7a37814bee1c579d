/** The filters of tasks, as options of `task list` and as `key=value` of `task cancel --filter`. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { TaskQuery } from '../../admin-calls.ts';
import type { CancelFilter } from '../../contract.ts';

/** A task must match all filters that are given. Times are epoch seconds. */
export type TaskFilters = {
  readonly status?: NonNullable<TaskQuery['status']>;
  readonly outcome?: NonNullable<TaskQuery['outcome']>;
  readonly waiting?: boolean;
  readonly waitingForAnswer?: boolean;
  readonly type?: string;
  readonly tag?: string;
  readonly session?: string;
  readonly agent?: string;
  readonly id?: string;
  readonly after?: number;
  readonly before?: number;
  readonly endedAfter?: number;
  readonly error?: string;
};

const STATUSES = ['pending', 'running', 'success', 'failed'] as const;
const OUTCOMES = ['success', 'failed', 'cancelled', 'timeout', 'no_agent', 'agent_lost'] as const;
const ID_CHARS_MIN = 8;
const ERROR_CHARS_MAX = 200;

/** The help on the values of filters. */
export const FILTER_HELP = `
A time is in seconds since 1970, as in 2026-11-22T18:30:00Z, or an age: 30s, 15m, 2h, 7d. Several statuses or outcomes are
separated by commas. Tasks match if they match all filters.`;

export function addFilterOptions(command: Command): Command {
  return command
    .addOption(
      new Option('--status <status>', 'only tasks with this status')
        .choices(STATUSES)
        .argParser(parseStatuses),
    )
    .addOption(
      new Option('--outcome <outcome>', 'only tasks that ended so')
        .choices(OUTCOMES)
        .argParser(parseOutcomes),
    )
    .option('--waiting', 'only tasks that wait for an agent, pending or running')
    .option('--waiting-for-answer', 'only tasks that wait for an answer, who has waited longest first')
    .option('--type <type>', 'only tasks of this type')
    .option('--tag <tag>', 'only tasks with this tag')
    .option('--session <id>', 'only tasks of this session')
    .option('--agent <id>', 'only tasks of this agent')
    .option(
      '--id <id>',
      `only the task with this id, or this end of it: ${ID_CHARS_MIN} characters or more`,
      parseIdEnd,
    )
    .option('--after <time>', 'only tasks submitted at this time or later', parseTime)
    .option('--before <time>', 'only tasks submitted before this time', parseTime)
    .option('--ended-after <time>', 'only tasks that ended at this time or later, of the last 500', parseTime)
    .option('--error <text>', 'only tasks that failed with this error, numbers and ids aside', cutError);
}

/** Returns the filters as the gateway takes them. */
export function toTaskQuery(given: TaskFilters): TaskQuery {
  const { after, before, endedAfter, waitingForAnswer, ...filters } = given;
  return {
    ...filters,
    ...(waitingForAnswer !== undefined && { waiting_for_answer: waitingForAnswer }),
    ...(after !== undefined && { created_after: after }),
    ...(before !== undefined && { created_before: before }),
    ...(endedAfter !== undefined && { ended_after: endedAfter }),
  };
}

const PARSERS: Readonly<Record<string, (text: string) => unknown>> = {
  status: parseStatuses,
  outcome: parseOutcomes,
  id: parseIdEnd,
  after: parseTime,
  before: parseTime,
  waiting: parseBoolean,
  waiting_for_answer: parseBoolean,
  type: String,
  tag: String,
  session: String,
  agent: String,
};

/** Parses `key=value` and adds it to the earlier filters, for an option that may be repeated. */
export function collectFilter(text: string, before: TaskFilters = {}): TaskFilters {
  const [, key = '', value = ''] = /^(\w+)=(.+)$/s.exec(text) ?? [];
  const parse = Object.hasOwn(PARSERS, key) ? PARSERS[key] : undefined;
  if (!parse) {
    throw new InvalidArgumentError(
      `Give KEY=VALUE with one of these keys: ${Object.keys(PARSERS).join(', ')}.`,
    );
  }
  // Reads the value as the option of the same filter does.
  const name = key.replaceAll(/_(\w)/g, (_, letter) => letter.toUpperCase());
  if (Object.hasOwn(before, name)) throw new InvalidArgumentError(`Give ${key} once.`);
  return { ...before, [name]: parse(value) };
}

/** Returns the filters as a cancellation takes them, apart from the latest submission time. */
export function toCancelFilter(filters: TaskFilters): CancelFilter {
  const { created_before: _before, ...filter } = toTaskQuery(filters);
  return filter as CancelFilter;
}

function parseStatuses(text: string): (typeof STATUSES)[number][] {
  return parseWords(text, STATUSES);
}

function parseOutcomes(text: string): (typeof OUTCOMES)[number][] {
  return parseWords(text, OUTCOMES);
}

function parseWords<Word extends string>(text: string, words: readonly Word[]): Word[] {
  return text.split(',').map((part) => {
    const found = words.find((word) => word === part.trim());
    if (found !== undefined) return found;
    throw new InvalidArgumentError(`Allowed choices are ${words.join(', ')}.`);
  });
}

/** The gateway compares only the beginnings of errors. */
function cutError(text: string): string {
  if (text !== '') return [...text].slice(0, ERROR_CHARS_MAX).join('');
  throw new InvalidArgumentError('Give the error, or what it begins with up to 200 characters.');
}

function parseBoolean(text: string): boolean {
  if (text === 'true' || text === 'false') return text === 'true';
  throw new InvalidArgumentError('Allowed choices are true, false.');
}

function parseIdEnd(text: string): string {
  if (text.length >= ID_CHARS_MIN) return text;
  throw new InvalidArgumentError(`Give the id or its last ${ID_CHARS_MIN} characters or more.`);
}

const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** Parses a time or an age into epoch seconds. */
function parseTime(text: string): number {
  const [, count, unit = ''] = /^(\d+(?:\.\d+)?)([smhd])$/.exec(text) ?? [];
  if (count !== undefined) return Date.now() / 1_000 - Number(count) * (UNIT_SECONDS[unit] ?? 1);
  const isSeconds = /^\d+(\.\d+)?$/.test(text);
  const seconds = isSeconds ? Number(text) : parseMoment(text) / 1_000;
  if (Number.isFinite(seconds) && seconds >= 0) return seconds;
  throw new InvalidArgumentError('Give a time like 2026-11-22T18:30:00Z, or an age like 15m, 2h or 7d.');
}

/** Returns milliseconds; NaN for a day that its month lacks, which the platform would take as a later one. */
function parseMoment(text: string): number {
  const day = text.slice(0, 10);
  const isDay = String(new Date(`${day}T00:00Z`).toJSON()).startsWith(day);
  return isDay ? Date.parse(text) : Number.NaN;
}
