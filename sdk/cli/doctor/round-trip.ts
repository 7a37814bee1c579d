/**
 * The round trip of `doctor --run-task`: it sends a task to an agent of its own, and waits for the event on
 * the stream.
 */
import { createAgent } from '../../agent/index.ts';
import { readMonotonicMs, systemClock } from '../../clock.ts';
import type { Task, TaskDone } from '../../contract.ts';
import { TaskGatewayError } from '../../errors.ts';
import { createId } from '../../ids.ts';
import type { Connection } from '../connection.ts';
import { describeError } from '../exit-codes.ts';
import { rejectOnAbort } from '../interrupts.ts';
import { createFinding, explainMissingEvent, type Finding } from './checks.ts';

const TIMEOUT_MS = 10_000;
/** The text that is sent to the agent and back. Not all of it is ASCII, so that a wrong encoding shows. */
const SENT_TEXT = 'there and back: 你好';

/** Makes the round trip. Rejects only if `outer` aborts, or on a bug. */
export async function diagnoseRoundTrip(connection: Connection, outer: AbortSignal): Promise<Finding> {
  const { sdkOptions, client } = connection;
  const name = `doctor-${createId()}`;
  const signal = AbortSignal.any([outer, AbortSignal.timeout(TIMEOUT_MS)]);
  const agent = createAgent({
    ...sdkOptions,
    agentId: name,
    tags: [name],
    lostAfterSeconds: null,
    handler: ({ payload }) => ({ output: String(payload.words) }),
  });
  try {
    const startMs = readMonotonicMs(systemClock);
    await Promise.race([agent.start(), rejectOnAbort(signal, createTimeoutError)]);
    const { task, event } = await submitTask(connection, name, signal);
    if (!event) return await explainMissingEvent(client, task.request_id, TIMEOUT_MS / 1_000);
    return describeEvent(event, readMonotonicMs(systemClock) - startMs);
  } catch (error) {
    if (outer.aborted || !(error instanceof TaskGatewayError)) throw error;
    return createFinding('round trip', 'wrong', `The round trip failed: ${describeError(error).text}`);
  } finally {
    await agent.stop({ drainMs: 0 });
  }
}

/** `event` is undefined if none arrived before the signal fired. */
type Submitted = { readonly task: Task; readonly event: TaskDone | undefined };

/** Submits the task once the stream is open, then waits for its event. */
async function submitTask({ client }: Connection, name: string, signal: AbortSignal): Promise<Submitted> {
  let resolveOpened: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    resolveOpened = resolve;
  });
  const events = client.subscribeEvents(name, {
    signal,
    onNotice: (notice) => notice.kind === 'open' && resolveOpened(),
  });
  const firstEvent = readFirst(events);
  await Promise.race([opened, firstEvent, rejectOnAbort(signal, createTimeoutError)]);
  const task = await client.submitTask(
    {
      task_type: 'doctor',
      task_tags: [name],
      payload: { words: SENT_TEXT },
      cli_session_id: name,
      timeout: 30,
    },
    { signal },
  );
  const event = await firstEvent.catch((error: unknown) => {
    if (signal.aborted) return undefined;
    throw error;
  });
  return { task, event };
}

async function readFirst(events: AsyncIterable<TaskDone>): Promise<TaskDone | undefined> {
  for await (const event of events) return event;
  return undefined;
}

function describeEvent({ status, result, error_info }: TaskDone, elapsedMs: number): Finding {
  if (status === 'success' && result?.output === SENT_TEXT) {
    const text = `A task went to an agent, and its event came back on the stream (${Math.round(elapsedMs)} ms).`;
    return createFinding('round trip', 'right', text);
  }
  const text = `A task has a wrong outcome: ${error_info ?? JSON.stringify(result)}.`;
  const advice = 'Something on the way changes requests or responses: try without the proxy.';
  return createFinding('round trip', 'wrong', text, advice);
}

function createTimeoutError(): TaskGatewayError {
  return new TaskGatewayError('timeout', `There was no response within ${TIMEOUT_MS / 1_000} s.`);
}
