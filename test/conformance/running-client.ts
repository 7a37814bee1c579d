/**
 * A client that runs its task with the SDK's `runTask` and does not show how it goes, so that it shares the
 * stream of its session: for the kit to try that stream on. At SIGINT it cancels its task.
 */
import { createClient } from '../../sdk/index.ts';

const { TASK_TYPE = '', TASK_TAG = '', TASK_PAYLOAD = '{}' } = process.env;
const aborting = new AbortController();
process.once('SIGINT', () => aborting.abort());
const submission = { task_type: TASK_TYPE, task_tags: [TASK_TAG], payload: JSON.parse(TASK_PAYLOAD) };
const { signal } = aborting;
try {
  const { result } = await createClient().runTask(submission, { signal, cancelOnAbort: true });
  console.log(JSON.stringify(result));
} catch (error) {
  // The process ends when the cancellation has been sent.
  console.error(error);
  process.exitCode = 1;
}
