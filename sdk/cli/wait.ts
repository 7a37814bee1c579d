/** Waits until a task that was submitted elsewhere has succeeded or failed. */
import type { TaskGatewayClient } from '../client.ts';
import { linkSignals, readMonotonicMs, systemClock } from '../clock.ts';
import type { Task } from '../contract.ts';
import { AbortError } from '../errors.ts';
import { isSettled } from '../settled.ts';
import { CommandError, EXIT_CODES } from './exit-codes.ts';
import { startTimer } from './timers.ts';

/** How long the gateway holds a poll; less if the progress is shown. */
const POLL_SECONDS = 20;
const PROGRESS_POLL_SECONDS = 1;
/** The least time between the starts of two polls, for a gateway that does not hold them. */
const POLL_INTERVAL_MS = 1_000;
/** More retries than usual, so that a wait survives a restart of the gateway. */
const RETRIES_MAX = 6;
/**
 * How long the last poll may take after the end of the wait: until then the gateway holds it, and a wait of 0
 * s makes no other.
 */
const LAST_POLL_MAX_MS = 2_000;

export type WaitOptions = {
  /** The longest wait in seconds; absent: no limit. */
  readonly waitSeconds?: number | undefined;
  /** Called with the task at every poll. Without it, polls are less frequent. */
  readonly onPoll?: ((task: Task) => void) | undefined;
  readonly signal: AbortSignal;
};

/**
 * Returns the task once it is settled. Throws with `EXIT_CODES.waitTimeout` if that takes longer than
 * allowed.
 */
export async function waitUntilSettled(
  client: Pick<TaskGatewayClient, 'getTask'>,
  request_id: string,
  { waitSeconds = Number.POSITIVE_INFINITY, onPoll, signal }: WaitOptions,
): Promise<Task> {
  const ending = linkSignals(signal);
  const stopTimer = startTimer(waitSeconds * 1_000 + LAST_POLL_MAX_MS, () => ending.abort());
  try {
    return await pollTask(client, request_id, { waitSeconds, onPoll, signal: ending.signal });
  } catch (error) {
    if (!(error instanceof AbortError) || signal.aborted) throw error;
    throw new CommandError(
      EXIT_CODES.waitTimeout,
      `The gateway did not say within ${waitSeconds} s whether task ${request_id} has ended.`,
      'Run "task-gateway doctor" to find the cause.',
    );
  } finally {
    stopTimer();
    ending.release();
  }
}

async function pollTask(
  client: Pick<TaskGatewayClient, 'getTask'>,
  request_id: string,
  { waitSeconds, onPoll, signal }: WaitOptions & { readonly waitSeconds: number },
): Promise<Task> {
  const startMs = readMonotonicMs(systemClock);
  const pollSeconds = onPoll ? PROGRESS_POLL_SECONDS : POLL_SECONDS;
  for (;;) {
    const pollMs = readMonotonicMs(systemClock);
    const remainingSeconds = waitSeconds - (pollMs - startMs) / 1_000;
    const wait = Math.max(0, Math.min(pollSeconds, remainingSeconds));
    const task = await client.getTask(request_id, { wait, signal, maxRetries: RETRIES_MAX });
    onPoll?.(task);
    if (isSettled(task)) return task;
    if (remainingSeconds <= 0) {
      throw new CommandError(
        EXIT_CODES.waitTimeout,
        `Task ${request_id} is still ${task.status} after ${waitSeconds} s. It continues.`,
      );
    }
    const nextPollMs = Math.min(pollMs + POLL_INTERVAL_MS, startMs + waitSeconds * 1_000);
    await systemClock.sleep(nextPollMs - readMonotonicMs(systemClock), signal);
  }
}
