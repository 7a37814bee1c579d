/**
 * A fastify server: a page runs a task and sees its progress by server-sent events. When the page is closed
 * before the task has ended, the task is cancelled.
 *
 *     npm install fastify
 *     TASK_GATEWAY_URL=http://127.0.0.1:8080 TASK_GATEWAY_AUTH=… PORT=3000 node fastify-events.ts
 */
import { AbortError, createClient, TaskGatewayError } from '@task-gateway/sdk';
import fastify from 'fastify';

const client = createClient({ logLevel: 'warn' });
const app = fastify();

app.get('/', (_request, reply) => reply.type('text/html').send(PAGE));

app.get<{ Querystring: { text?: string } }>('/run', async (request, reply) => {
  // An EventSource connects again when a stream ends, with the last id that it has seen: there is no more.
  if (request.headers['last-event-id'] === 'end') return await reply.code(204).send();
  const { raw: response } = reply.hijack();
  const leaving = new AbortController();
  // Not the request's `close`, which comes as soon as the request has been read. The response's comes when
  // the connection is gone; after a good end too, but then the run is over: there is nothing to cancel.
  response.once('close', () => leaving.abort());
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  const send = (event: string, data: unknown, id = ''): void => {
    response.write(`${id && `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  };
  try {
    const { result } = await client.runTask(
      { task_type: 'example', task_tags: ['shout'], payload: { text: request.query.text ?? 'hello' } },
      {
        signal: leaving.signal,
        cancelOnAbort: true,
        onProgress: ({ status, progress }) => send('progress', { status, progress }),
      },
    );
    send('done', result, 'end');
  } catch (error) {
    // The page is gone: the SDK cancels the task.
    if (error instanceof AbortError) return;
    const code = error instanceof TaskGatewayError ? error.code : 'internal';
    send('failed', { code, message: error instanceof Error ? error.message : 'failed' }, 'end');
  } finally {
    response.end();
  }
});

const PAGE = `<!doctype html>
<title>One task</title>
<progress max="100" value="0"></progress> <output></output>
<script type="module">
  const events = new EventSource('/run?text=hello');
  const [progress, output] = ['progress', 'output'].map((name) => document.querySelector(name));
  events.addEventListener('progress', ({ data }) => (progress.value = JSON.parse(data).progress));
  events.addEventListener('done', ({ data }) => (output.value = JSON.parse(data).output));
  events.addEventListener('failed', ({ data }) => (output.value = JSON.parse(data).message));
</script>`;

console.log(await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT ?? 3000) }));
process.once('SIGTERM', () => app.close());
