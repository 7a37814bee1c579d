/** Builds the submission of a task that is submitted again, and its idempotency key. Pure. */
import type { Submission } from './copy-as.ts';

/** The fields of a task that are submitted again. */
export type SubmittedTask = Submission & {
  readonly request_id: string;
  readonly cli_session_id: string;
  readonly timeout: number;
};

/** Builds the submission. `queueTimeout` is that of the task; null if the task might not wait. */
export function buildAgain(task: SubmittedTask, queueTimeout: number | null): Submission {
  const { task_type, task_tags, cli_session_id, timeout, payload } = task;
  return {
    task_type,
    task_tags,
    timeout,
    ...(cli_session_id === '' ? {} : { cli_session_id }),
    ...(queueTimeout === null ? {} : { queue_timeout: queueTimeout }),
    payload,
  };
}

/**
 * Writes the key for one confirmation at `time`. A repeat after an error finds the task that the first
 * attempt created; a later confirmation has another key, and so creates another task.
 */
export function writeAgainKey(request_id: string, time: number): string {
  return `again-${request_id}-${Math.round(time * 1_000)}`.replace(/[^ -~]/g, '_').slice(0, 255);
}
