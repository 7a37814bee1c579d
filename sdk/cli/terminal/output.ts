/** Prints tasks, their results and other values in the format the user chose. */
import type { Task, TaskResult } from '../../contract.ts';
import { createTaskError } from '../../task-errors.ts';
import { createTaskFailure } from '../exit-codes.ts';
import { translateHint } from './explanation.ts';
import { stringifySafely } from './safe-text.ts';
import { renderFields } from './table.ts';
import type { Colour, Terminal } from './terminal.ts';
import { formatTime } from './time.ts';

/** `table` is for people; `json` is one indented value; `jsonl` is one value per line. */
export type OutputFormat = 'table' | 'json' | 'jsonl';
export const OUTPUT_FORMATS: readonly OutputFormat[] = ['table', 'json', 'jsonl'];

/** A later gateway may have more statuses. */
const STATUS_COLOURS: Readonly<Record<string, Colour>> = {
  pending: 'yellow',
  running: 'cyan',
  success: 'green',
  failed: 'red',
};

/** Returns a text, by default the status itself, in the colour of the status. */
export function paintStatus(terminal: Terminal, status: Task['status'], text: string = status): string {
  return terminal.out.paint(STATUS_COLOURS[status] ?? 'dim', text);
}

/**
 * Renders a value as JSON: over several lines for `json`, on one line for `jsonl`. It ends with a line break.
 * Characters that a terminal obeys are always escaped, wherever the JSON goes.
 */
export function renderJson(value: unknown, format: 'json' | 'jsonl'): string {
  return `${stringifySafely(value, format === 'json' ? 2 : undefined)}\n`;
}

/** Prints all fields of a task. */
export async function printTask(terminal: Terminal, task: Task, format: OutputFormat): Promise<void> {
  if (format !== 'table') {
    await terminal.print(renderJson(task, format));
    return;
  }
  const fields: readonly (readonly [string, string])[] = [
    ['request_id', task.request_id],
    ['status', paintStatus(terminal, task.status)],
    ['task_type', task.task_type],
    ['task_tags', task.task_tags.join(', ')],
    ['agent_id', task.agent_id ?? '–'],
    ['cli_session_id', task.cli_session_id || '–'],
    ['create_time', formatTime(task.create_time, 'milliseconds')],
    ['timeout', `${task.timeout} s`],
    ['progress', `${task.progress} %`],
    ['payload', stringifySafely(task.payload)],
    ...(task.result === null ? [] : [['result', stringifySafely(task.result)] as const]),
    ...(task.outcome === undefined ? [] : [['outcome', task.outcome] as const]),
    ...(task.error_info === null ? [] : [['error_info', task.error_info] as const]),
  ];
  await terminal.print(renderFields(fields, terminal.out.paint));
}

/**
 * Prints the outcome of a settled task: as `table` its result, otherwise the whole task. If the task failed,
 * throws its error with the gateway's hint; with `json` and `jsonl`, it prints the task first.
 */
export async function printOutcome(
  terminal: Terminal,
  task: Task,
  format: OutputFormat,
  hint: string | null,
): Promise<void> {
  if (format !== 'table') await terminal.print(renderJson(task, format));
  requireSuccess(task, hint);
  if (format === 'table') await terminal.print(renderResult(task.result ?? {}));
}

/** Throws the error of a failed task, with the gateway's hint. */
export function requireSuccess(task: Task, hint: string | null): void {
  if (task.status === 'failed') throw createTaskFailure(createTaskError(task), translateHint(hint));
}

/** Renders a result: as plain text if it holds only text, otherwise as JSON. */
function renderResult(result: TaskResult): string {
  // A cut text itself shows where it is cut.
  const { reply, output, truncated: _truncated, ...others } = result;
  const text = typeof output === 'string' ? output : reply;
  if (typeof text !== 'string' || Object.keys(others).length > 0) return renderJson(result, 'json');
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}
