/**
 * A gateway in memory for the tests of `runTask`: one task with an output, and streams that the test writes
 * to and cuts.
 */
import * as sdk from '../../sdk/index.ts';
// Loaded here, so that the client's import() of them takes no time that the fake clock does not know.
import '../../sdk/later-calls.ts';
import '../../sdk/run.ts';
import '../../sdk/stream/output.ts';
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
  type Opened = { readonly sent: Sent; write(text: string): void; end(): void };
  const streams: Opened[] = [];
  const outputs: Opened[] = [];
  const gateway = {
    task: someTask({ status: 'pending' }),
    /** The response to all requests but those for streams, while it is set. */
    outage: undefined as Response | undefined,
    streamOutage: undefined as Response | undefined,
    /** The response to all requests for the output; at first that of a gateway which has none. */
    outputOutage: json(problem(404, 'route_not_found'), 404) as Response | undefined,
    /** The response to those for its stream alone. */
    outputStreamOutage: undefined as Response | undefined,
    /** The stored output, which pages are read from; the test writes its streams. */
    pieces: [] as Record<string, unknown>[],
    /** The bodies of the answers that arrived, and the response to the next one, while it is set. */
    answers: [] as unknown[],
    answerOutage: undefined as Response | undefined,
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

  function openStream(sent: Sent, opened = streams): Response {
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        const write = (text: string): void => controller.enqueue(encoder.encode(text));
        opened.push({ sent, write, end: () => controller.close() });
        write('retry: 2000\n: hello\n\n');
      },
    });
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
  }

  function readPage({ url }: Sent): Response {
    const { status, progress } = gateway.task;
    const pieces = gateway.pieces.slice(Number(url.searchParams.get('after')));
    const complete = status === 'success' || status === 'failed';
    const outcome = complete ? status : null;
    const last = gateway.pieces.length;
    return json({ request_id: 'task-1', status, progress, outcome, pieces, last, complete, missing: null });
  }

  const fetch = createScriptedFetch((sent) => {
    const { pathname } = sent.url;
    if (pathname === '/api/cli/events') return gateway.streamOutage?.clone() ?? openStream(sent);
    if (gateway.outage) return gateway.outage.clone();
    if (pathname.endsWith('/output')) {
      if (gateway.outputOutage) return gateway.outputOutage.clone();
      if (sent.headers.get('accept') !== 'text/event-stream') return readPage(sent);
      return gateway.outputStreamOutage?.clone() ?? openStream(sent, outputs);
    }
    if (pathname.endsWith('/explain'))
      return gateway.explanation?.clone() ?? new Promise<Response>(() => undefined);
    if (pathname.endsWith('/answer')) {
      gateway.answers.push(sent.body);
      return gateway.answerOutage?.clone() ?? json({ ok: true, request_id: 'task-1', key: sent.body?.key });
    }
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
    outputs,
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

/** A frame of an output's stream: a piece, or how its task stands. */
export const frame = (piece: Record<string, unknown>): string =>
  `${'n' in piece ? `id: ${piece.n}\n` : ''}data: ${JSON.stringify(piece)}\n\n`;

/** The end of an output, but for its number. */
export const END = { end: true, status: 'success', outcome: 'success', missing: null };

/** Creates a gateway whose tasks have outputs. */
export function createOutputGateway() {
  const gateway = createGateway();
  gateway.state.outputOutage = undefined;
  return gateway;
}
