/** A gateway in memory for the tests of `runTask`: one task, and streams that the test writes to and cuts. */
import * as sdk from '../../sdk/index.ts';
// Loaded here, so that the client's import() of them takes no time that the fake clock does not know.
import '../../sdk/later-calls.ts';
import '../../sdk/run.ts';
import { createScriptedFetch, json, type Sent, someTask } from './scripted-fetch.ts';
import { problem } from './scripted-server.ts';
import { createSdkClock } from './sdk-clock.ts';

/** The submission of the tests. */
export const submission: sdk.TaskSubmission = {
  task_type: '翻译',
  task_tags: ['zh'],
  payload: { text: '你好' },
};
const encoder = new TextEncoder();

/** Creates the gateway and a client of it. */
export function createGateway() {
  const clock = createSdkClock();
  const streams: { readonly sent: Sent; write(text: string): void; end(): void }[] = [];
  const gateway = {
    task: someTask({ status: 'pending' }),
    /** The response to all requests but those for streams, while it is set. */
    outage: undefined as Response | undefined,
    streamOutage: undefined as Response | undefined,
    /** The response to `explainTask`; absent: none comes. */
    explanation: json(problem(404, 'route_not_found'), 404) as Response | undefined,
    /** Runs after the submission, before the response to it is sent. */
    onSubmit: () => {},
    /** Whether a `getTask` with `wait` gets no response until `releasePolls()`. */
    holdsPolls: false,
    releasePolls: () => {},
  };
  const released = new Promise<void>((resolve) => {
    gateway.releasePolls = resolve;
  });

  function openStream(sent: Sent): Response {
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        const write = (text: string): void => controller.enqueue(encoder.encode(text));
        streams.push({ sent, write, end: () => controller.close() });
        write('retry: 2000\n: hello\n\n');
      },
    });
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
  }

  const fetch = createScriptedFetch((sent) => {
    const { pathname } = sent.url;
    if (pathname === '/api/cli/events') return gateway.streamOutage?.clone() ?? openStream(sent);
    if (gateway.outage) return gateway.outage.clone();
    if (pathname.endsWith('/explain'))
      return gateway.explanation?.clone() ?? new Promise<Response>(() => undefined);
    if (pathname.endsWith('/cancel')) {
      gateway.task = { ...gateway.task, status: 'failed', error_info: 'cancelled by user' };
      return json({ ok: true, request_id: gateway.task.request_id });
    }
    if (sent.method === 'POST') {
      const snapshot = json({ ...gateway.task, ...sent.body, status: 'pending' });
      gateway.onSubmit();
      return snapshot;
    }
    if (gateway.holdsPolls && sent.url.searchParams.has('wait'))
      return released.then(() => json(gateway.task));
    return json(gateway.task);
  });
  const client = sdk.createClient({ baseUrl: 'http://gateway.test', auth: 'a-good-secret', fetch, clock });
  const count = (what: (sent: Sent) => boolean) => fetch.sent.filter(what).length;
  return {
    clock,
    client,
    fetch,
    streams,
    state: gateway,
    succeed(result = { output: '完成' }) {
      gateway.task = { ...gateway.task, status: 'success', progress: 100, result };
    },
    submits: () =>
      fetch.sent.filter(({ method, url }) => method === 'POST' && url.pathname === '/api/cli/tasks'),
    gets: () => count(({ method, url }) => method === 'GET' && url.pathname === '/api/cli/tasks/task-1'),
    waits: () => fetch.sent.flatMap(({ url }) => url.searchParams.get('wait') ?? []),
    cancels: () => count(({ url }) => url.pathname.endsWith('/cancel')),
  };
}
