/**
 * A page that runs tasks. It asks its user for the gateway's secret. The gateway must allow the page's origin
 * (`CORS_ORIGINS`) unless both have the same origin.
 */
import { createClient, TaskGatewayError } from '@task-gateway/sdk';

const form = document.querySelector('form');
const bar = document.querySelector('progress');
const output = document.querySelector('output');

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const { url, auth, tag, text } = Object.fromEntries(new FormData(form));
  output.value = '';
  try {
    const client = createClient({ baseUrl: url, auth });
    const task = await client.runTask(
      { task_type: 'example', task_tags: [tag], payload: { text }, timeout: 60, queue_timeout: 30 },
      {
        onProgress: ({ progress }) => {
          bar.value = progress;
        },
      },
    );
    output.value = task.result.output;
  } catch (error) {
    if (!(error instanceof TaskGatewayError)) throw error;
    output.value = `${error.code}: ${error.message}`;
  }
});
