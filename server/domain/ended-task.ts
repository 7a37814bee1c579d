/**
 * An ended task as the engines keep it for the administrator's overview: how, when and at which agent it
 * ended. Both engines store the same text. Pure.
 */
import type { TaskOutcome } from './history-record.ts';
import { copyBeginning } from './payload-preview.ts';
import type { TaskState } from './task.ts';

export type EndedTask = {
  readonly request_id: string;
  readonly endedMs: number;
  readonly outcome: TaskOutcome;
  readonly type: string;
  /** The agent that the task had when it settled; null without an agent. */
  readonly agent_id: string | null;
  /** The first 200 characters of the task's error; null when it succeeded. */
  readonly error: string | null;
};

/** In UTF-16 code units, as `length` counts. */
export const ERROR_CHARS_MAX = 200;

export function endedTaskOf(request_id: string, outcome: TaskOutcome, state: TaskState): EndedTask {
  const { settledMs, createdMs, task_type: type, agent_id, error_info } = state;
  const error = error_info === null ? null : copyBeginning(error_info, ERROR_CHARS_MAX);
  return { request_id, endedMs: settledMs ?? createdMs, outcome, type, agent_id, error };
}

/** Newest first by (endedMs, request_id). */
export function sortEnded(tasks: readonly EndedTask[]): readonly EndedTask[] {
  return tasks.toSorted((a, b) => b.endedMs - a.endedMs || (a.request_id < b.request_id ? 1 : -1));
}

type StoredTask = readonly [
  request_id: string,
  endedMs: number,
  outcome: TaskOutcome,
  type: string,
  agent_id: string | null,
  error: string | null,
];

export function writeEnded({ request_id, endedMs, outcome, type, agent_id, error }: EndedTask): string {
  const stored: StoredTask = [request_id, endedMs, outcome, type, agent_id, error];
  return JSON.stringify(stored);
}

export function readEnded(text: string): EndedTask {
  const [request_id, endedMs, outcome, type, agent_id, error] = JSON.parse(text) as StoredTask;
  return { request_id, endedMs, outcome, type, agent_id, error };
}
