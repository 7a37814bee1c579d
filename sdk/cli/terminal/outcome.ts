/** A task on the screen: its fields, its result, and the exit code its end stands for. */
import type { Task, TaskResult } from '../../contract.ts';
import { createTaskError } from '../../errors.ts';
import type { OutputFormat } from '../connection.ts';
import type { Screen } from './terminal.ts';
import { type Colour, renderPairs } from './terminal.ts';
import { cleanText } from './width.ts';

const STATUS_COLOURS: Readonly<Record<Task['status'], Colour>> = {
  pending: 'yellow',
  running: 'cyan',
  success: 'green',
  failed: 'red',
};

/** A state in its colour. */
export function paintStatus(screen: Screen, status: Task['status'], text: string = status): string {
  return screen.out.paint(STATUS_COLOURS[status], text);
}

/** Any value as JSON: for people over several lines, as `jsonl` on one. */
export function renderJson(value: unknown, format: 'json' | 'jsonl'): string {
  return `${JSON.stringify(value, null, format === 'json' ? 2 : undefined)}\n`;
}

/** Prints a task as it is. */
export async function printTask(screen: Screen, task: Task, format: OutputFormat): Promise<void> {
  if (format !== 'table') {
    await screen.print(renderJson(task, format));
    return;
  }
  const fields: readonly (readonly [string, string])[] = [
    ['request_id', task.request_id],
    ['status', paintStatus(screen, task.status)],
    ['task_type', cleanText(task.task_type)],
    ['task_tags', cleanText(task.task_tags.join(', '))],
    ['agent_id', cleanText(task.agent_id ?? '–')],
    ['cli_session_id', cleanText(task.cli_session_id || '–')],
    ['create_time', new Date(task.create_time * 1_000).toISOString()],
    ['timeout', `${task.timeout} s`],
    ['progress', `${task.progress} %`],
    ['payload', cleanText(JSON.stringify(task.payload))],
    ...(task.result === null ? [] : [['result', cleanText(JSON.stringify(task.result))] as const]),
    ...(task.error_info === null ? [] : [['error_info', cleanText(task.error_info)] as const]),
  ];
  await screen.print(renderPairs(fields, screen.out.paint));
}

/**
 * Prints what became of a task that has ended: as `table` its result alone. Throws the typed error of one that failed,
 * after the task was printed where JSON was asked for.
 */
export async function printOutcome(screen: Screen, task: Task, format: OutputFormat): Promise<void> {
  if (format !== 'table') await screen.print(renderJson(task, format));
  if (task.status === 'failed') throw createTaskError(task);
  if (format === 'table') await screen.print(renderResult(task.result ?? {}, screen.out.isTerminal));
}

/** A result that is only text as that text, any other as JSON. On a terminal nothing in it can move the cursor. */
export function renderResult(result: TaskResult, isTerminal: boolean): string {
  const { reply, output, ...others } = result;
  const text = typeof output === 'string' ? output : reply;
  if (typeof text !== 'string' || Object.keys(others).length > 0) return renderJson(result, 'json');
  const shown = isTerminal ? cleanText(text, true) : text;
  return shown === '' || shown.endsWith('\n') ? shown : `${shown}\n`;
}
