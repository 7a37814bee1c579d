/**
 * A client of the SDK that gets its result only from the stream, on which the kit tries the SDK's reading of
 * streams: `runTask` would get the task at its end. It is no example: without a stream it gives up.
 */
import { createClient } from '../../sdk/index.ts';

const { TASK_TYPE = '', TASK_TAG = '', TASK_PAYLOAD = '{}' } = process.env;
const DOWNS_MAX = 3;
const client = createClient();
const cli_session_id = `streaming-${process.pid}`;
/** How many times in a row the stream was down. */
let downs = 0;
const events = client.subscribeEvents(cli_session_id, {
  onNotice({ kind }) {
    downs = kind === 'down' ? downs + 1 : 0;
    if (kind === 'gap' || downs === DOWNS_MAX) process.exit(1);
  },
});
const { request_id } = await client.submitTask({
  task_type: TASK_TYPE,
  task_tags: [TASK_TAG],
  payload: JSON.parse(TASK_PAYLOAD),
  cli_session_id,
});
for await (const event of events) {
  if (event.request_id !== request_id) continue;
  if (event.status === 'success') console.log(JSON.stringify(event.result));
  else process.exitCode = 1;
  break;
}
