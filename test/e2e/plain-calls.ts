/**
 * The calls of a client written from the specification alone: plain fetch, no SDK, only documented fields.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ADMIN_SECRET, SECRET } from '../harness/gateway-process.ts';

export type Answer = { readonly status: number; readonly body: Record<string, unknown> };

/** Posts JSON. */
export async function post(url: string, path: string, body: unknown): Promise<Answer> {
  return await read(await fetch(`${url}${path}`, { method: 'POST', body: JSON.stringify(body) }));
}

/** Gets with the gateway secret in the query. */
export async function get(url: string, path: string): Promise<Answer> {
  const glue = path.includes('?') ? '&' : '?';
  return await read(await fetch(`${url}${path}${glue}auth=${SECRET}`));
}

/** Gets with the administrator's secret. */
export async function getAdmin(url: string, path: string): Promise<Answer> {
  return await read(await fetch(`${url}${path}`, { headers: { 'X-Admin-Auth': ADMIN_SECRET } }));
}

async function read(response: Response): Promise<Answer> {
  const text = await response.text();
  return { status: response.status, body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>) };
}

/** Submits a task; resolves with its id, rejects unless the status is 200. */
export async function submit(url: string, more: Record<string, unknown> = {}): Promise<string> {
  const { status, body } = await post(url, '/api/cli/tasks', {
    auth: SECRET,
    task_type: 'translate',
    task_tags: ['e2e'],
    payload: { text: '你好' },
    timeout: 120,
    ...more,
  });
  if (status !== 200) throw new Error(`submit returned ${status}: ${JSON.stringify(body)}`);
  return String(body.request_id);
}

export type Stream = {
  /** The events received so far; one that came twice is here twice. */
  readonly events: readonly { readonly id: string; readonly data: Record<string, unknown> }[];
  /** Whether the connection has ended, by either side. */
  isOver(): boolean;
  leave(): void;
};

/** Subscribes and reads until `leave()` or until the server ends the stream. */
export async function subscribe(url: string, session: string, lastEventId?: string): Promise<Stream> {
  const stop = new AbortController();
  const events: { id: string; data: Record<string, unknown> }[] = [];
  const path = `/api/cli/events?cli_session_id=${encodeURIComponent(session)}&auth=${SECRET}`;
  const headers = lastEventId === undefined ? {} : { 'Last-Event-ID': lastEventId };
  const response = await fetch(`${url}${path}`, { headers, signal: stop.signal });
  if (!response.ok || !response.body) throw new Error(`subscribe returned ${response.status}`);
  const text = response.body;
  let over = false;
  void (async () => {
    let rest = '';
    for await (const chunk of text.pipeThrough(new TextDecoderStream())) {
      const frames = (rest + chunk).split('\n\n');
      rest = frames.pop() ?? '';
      for (const frame of frames) {
        const data = /^data: (.*)$/m.exec(frame)?.[1];
        const id = /^id: (.*)$/m.exec(frame)?.[1] ?? '';
        if (data !== undefined) events.push({ id, data: JSON.parse(data) as Record<string, unknown> });
      }
    }
  })()
    .catch(() => undefined)
    .finally(() => {
      over = true;
    });
  return { events, isOver: () => over, leave: () => stop.abort() };
}

/**
 * All events of a session so far: a task that fails at once is submitted last, and the stream is read up to
 * its event. The number of events cannot be known from outside, because a submission whose response was lost
 * has one too.
 */
export async function replay(url: string, session: string): Promise<Stream['events']> {
  const stream = await subscribe(url, session);
  try {
    const last = await submit(url, { cli_session_id: session, task_tags: ['nobody-has-this-tag'] });
    const endMs = performance.now() + 30_000;
    while (!stream.events.some(({ data }) => data.request_id === last)) {
      if (performance.now() > endMs)
        throw new Error('The last event of the session did not come within 30 s.');
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    return stream.events;
  } finally {
    stream.leave();
  }
}

export type PushAgent = {
  /** The highest number of tasks it worked on at once. */
  mostAtOnce(): number;
  /** How often each task was pushed. */
  readonly pushes: ReadonlyMap<string, number>;
  close(): Promise<void>;
};

/** An agent that takes every push and reports success; `pauseMs` is how long it works. */
export async function startPushAgent(
  url: string,
  options: {
    readonly agent_id: string;
    readonly capacity: number;
    readonly pauseMs: number;
    /** The tasks it still has, when it registers again. */
    readonly request_ids?: readonly string[];
  },
): Promise<PushAgent> {
  const pushes = new Map<string, number>();
  let working = 0;
  let most = 0;
  const server = createServer(async (incoming, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const { request_id } = JSON.parse(Buffer.concat(chunks).toString('utf8')) as { request_id: string };
    pushes.set(request_id, (pushes.get(request_id) ?? 0) + 1);
    working += 1;
    most = Math.max(most, working);
    response.writeHead(202).end();
    setTimeout(async () => {
      working -= 1;
      const report = {
        request_id,
        agent_id: options.agent_id,
        status: 'success',
        result: { output: '完成' },
      };
      await post(url, '/api/agent/result', report).catch(() => undefined);
    }, options.pauseMs);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await post(url, '/api/agent/register', {
    auth: SECRET,
    agent_id: options.agent_id,
    endpoint: `http://127.0.0.1:${port}/tasks`,
    agent_tags: ['e2e'],
    max_concurrent: options.capacity,
    current_load: 0,
    ...(options.request_ids && { request_ids: options.request_ids }),
  });
  return {
    mostAtOnce: () => most,
    pushes,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
