/**
 * A fastify server. A page starts a task, sees its words and its progress as they come, answers its agent's
 * questions and may cancel it. A page that is loaded again goes on with the same task, because the server
 * only follows it; only its agent, its timeout or the button ends the task.
 *
 *     npm install fastify
 *     TASK_GATEWAY_URL=http://127.0.0.1:8080 TASK_GATEWAY_AUTH=… PORT=3000 node fastify-live.ts
 */
import { AbortError, createClient, type JsonObject, TaskGatewayError } from '@task-gateway/sdk';
import fastify from 'fastify';

const client = createClient({ logLevel: 'warn' });
const app = fastify();
type OfTask = { Params: { id: string } };

app.get('/', (_request, reply) => reply.type('text/html').send(PAGE));

app.post<{ Body: JsonObject }>('/tasks', async ({ body }) => {
  const task = { task_type: 'example', task_tags: ['shout'], payload: body, queue_timeout: 30 };
  const { request_id } = await client.submitTask(task);
  return { request_id };
});

app.post<OfTask & { Body: { key: string; answer: unknown } }>('/tasks/:id/answer', ({ params, body }) =>
  client.answerTask(params.id, body),
);

app.delete<OfTask>('/tasks/:id', ({ params }) => client.cancelTask(params.id));

app.get<OfTask>('/tasks/:id/live', async (request, reply) => {
  // When an EventSource reconnects, it sends the number of the last piece that it has.
  const last = request.headers['last-event-id'] ?? '0';
  if (last === 'end') return await reply.code(204).send();
  const { raw: response } = reply.hijack();
  const leaving = new AbortController();
  response.once('close', () => leaving.abort());
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  const send = (event: string, data: unknown, id: number | string = ''): void => {
    response.write(`${id && `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  };
  try {
    const { result } = await client.followTask(request.params.id, {
      after: Number(last),
      signal: leaving.signal,
      onProgress: ({ status, progress }) => send('progress', { status, progress }),
      onOutput({ n, text, reset }) {
        if (text !== undefined) send('words', text, n);
        // The agent began anew: drop the pieces before this one.
        if (reset) send('reset', null, n);
      },
      onQuestion(question, { signal }) {
        send('question', question);
        // The page sends its answer in a request of its own; another client may be faster.
        signal.addEventListener('abort', () => send('answered', question.key));
      },
    });
    send('done', result, 'end');
  } catch (error) {
    // The page is gone, and its task goes on.
    if (error instanceof AbortError) return;
    const code = error instanceof TaskGatewayError ? error.code : 'internal';
    send('failed', { code, message: error instanceof Error ? error.message : 'failed' }, 'end');
  } finally {
    response.end();
  }
});

const PAGE = `<!doctype html>
<title>One task</title>
<button id="start">Start</button> <button id="cancel">Cancel</button>
<progress max="100" value="0"></progress> <output></output> <form hidden><label></label> <input></form>
<script type="module">
  const find = (name) => document.querySelector(name);
  const [progress, output, form] = [find('progress'), find('output'), find('form')];
  const send = (path, method, body) => fetch(path, { method, ...(body && {
    headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }) });
  const path = () => '/tasks/' + location.hash.slice(1);
  find('#cancel').onclick = () => send(path(), 'DELETE');
  find('#start').onclick = async () => {
    location.hash = (await (await send('/tasks', 'POST', { text: 'hello' })).json()).request_id;
    follow();
  };
  function follow() {
    const events = new EventSource(path() + '/live');
    const on = (name, act) => events.addEventListener(name, ({ data }) => act(JSON.parse(data)));
    on('progress', (task) => (progress.value = task.progress));
    on('words', (words) => (output.value += words));
    on('reset', () => (output.value = ''));
    on('question', ({ key, prompt }) => {
      form.hidden = false;
      form.firstChild.textContent = prompt;
      form.onsubmit = async (event) => {
        event.preventDefault();
        const reply = await send(path() + '/answer', 'POST', { key, answer: form.elements[0].value });
        if (!reply.ok) form.firstChild.textContent = (await reply.json()).message;
      };
    });
    on('answered', () => (form.hidden = true));
    on('done', () => (document.title = 'Done'));
    on('failed', ({ message }) => (document.title = message));
  }
  if (location.hash) follow();
</script>`;

console.log(await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT ?? 3000) }));
process.once('SIGTERM', () => app.close());
