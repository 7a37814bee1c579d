/** Waits for the end of a task somebody else handed in. */
import type { TaskGatewayClient } from '../../client.ts';
import { systemClock } from '../../clock.ts';
import type { Task } from '../../contract.ts';
import { isSettled } from '../../settled.ts';
import { CommandError, EXITS } from '../exit-codes.ts';

/** The gateway holds a poll for so long, unless somebody looks at the progress. */
const POLL_SECONDS = 20;
const WATCHED_POLL_SECONDS = 1;
/** Between two polls, also where a gateway does not hold them. */
const POLL_EVERY_MS = 1_000;
/** A gateway that restarts is waited for. */
const RETRIES_MAX = 6;

export type WaitOptions = {
  /** Seconds to wait at most; absent: until the end. */
  readonly seconds?: number | undefined;
  /** Told the task at every look; without it the gateway is asked seldom. */
  readonly onLook?: ((task: Task) => void) | undefined;
  readonly signal: AbortSignal;
};

/** Answers the task once it has ended. Throws with `EXITS.waitOver` when it has not within the time. */
export async function waitForEnd(
  client: Pick<TaskGatewayClient, 'getTask'>,
  request_id: string,
  { seconds = Number.POSITIVE_INFINITY, onLook, signal }: WaitOptions,
): Promise<Task> {
  const startMs = systemClock.nowMs();
  const pollSeconds = onLook ? WATCHED_POLL_SECONDS : POLL_SECONDS;
  for (;;) {
    const lookMs = systemClock.nowMs();
    const left = seconds - (lookMs - startMs) / 1_000;
    const wait = Math.max(0, Math.min(pollSeconds, left));
    const task = await client.getTask(request_id, { wait, signal, maxRetries: RETRIES_MAX });
    onLook?.(task);
    if (isSettled(task)) return task;
    if (left <= 0) {
      throw new CommandError(
        EXITS.waitOver,
        `Task ${request_id} is ${task.status} after ${seconds} s. It goes on.`,
      );
    }
    const pauseMs = Math.min(lookMs + POLL_EVERY_MS, startMs + seconds * 1_000) - systemClock.nowMs();
    await systemClock.sleep(pauseMs, signal);
  }
}
