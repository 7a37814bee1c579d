/**
 * Runs one task and prints its output. Standard error shows how the task goes, and whether the gateway can be
 * reached. Ctrl-C cancels the task.
 *
 *     TASK_GATEWAY_URL=http://127.0.0.1:8080 TASK_GATEWAY_AUTH=… node client.js shout 'hello'
 *
 * Instead of the text it takes a payload as JSON; a further argument is the type of the task.
 */
import { AbortError, createClient, TaskFailedError, TaskGatewayError } from '@task-gateway/sdk';

const [tag = 'shout', text = 'hello', task_type = 'example'] = process.argv.slice(2);
const payload = text.startsWith('{') ? JSON.parse(text) : { text };
const client = createClient({ logLevel: 'warn' });
const aborting = new AbortController();
process.once('SIGINT', () => aborting.abort());

try {
  const task = await client.runTask(
    { task_type, task_tags: [tag], payload, timeout: 60, queue_timeout: 30 },
    {
      signal: aborting.signal,
      cancelOnAbort: true,
      onProgress: ({ status, progress }) => console.error(`${status} ${progress} %`),
    },
  );
  console.log(task.result.output);
} catch (error) {
  if (error instanceof AbortError) {
    // A program that ended now would not cancel its task.
    const isCancelled = await error.cancelled;
    console.error(isCancelled ? 'cancelled' : `task ${error.request_id ?? 'unknown'} may go on`);
    process.exitCode = 130;
  } else if (error instanceof TaskFailedError) {
    console.error(`${error.code}: ${error.task.error_info}`);
    process.exitCode = 1;
  } else if (error instanceof TaskGatewayError) {
    console.error(`${error.code}: ${error.message}`);
    process.exitCode = 1;
  } else throw error;
}
