/**
 * The gateway that the kit plays against a client, for one task: it takes the submission, lets the task end
 * after a while, and shows its end to streams and polls. A script says what goes wrong on the way.
 */
import type { ServerResponse } from 'node:http';
import type { Fields } from './findings.ts';
import {
  createPlayedServer,
  NEWER,
  type PlayedServer,
  problem,
  type Received,
  type Reply,
  receipt,
  VERSION_HEADER,
} from './played-server.ts';

/** A call that goes another way than usual. */
export type Mishap = {
  /** What is responded; without it the connection is cut. */
  readonly reply?: Reply;
  /** The call was served before. */
  readonly isServed?: boolean;
  /** The usual response, of which the second half never comes. */
  readonly isTorn?: boolean;
  /** A redirection to another host. */
  readonly isRedirection?: boolean;
};

/** An event as it is to be written. */
export type Frame = {
  readonly id: string;
  readonly data: string;
  /** Its place in the feed, from 0. */
  readonly index: number;
  readonly isOwn: boolean;
};
/** What is written for it, piece by piece. */
export type Written = { readonly pieces: readonly (string | Uint8Array)[]; readonly isCut?: boolean };

export type Script = {
  /** Fields of the task when it has ended, other than those of a success. */
  readonly end?: Fields;
  /** Its `Task-Outcome` then. */
  readonly outcome?: string;
  /** How long it takes from its submission to its end. */
  readonly workMs?: number;
  readonly request_id?: string;
  /** How many tasks of the same session have ended before. */
  readonly others?: number;
  /** How long after the work a submission is responded to. */
  readonly responseMs?: number;
  /** The longest that a poll is held. */
  readonly holdMsMax?: number;
  /** What the calls of an operation get, by their number from 0; undefined: the usual. */
  readonly submit?: (nth: number) => Mishap | undefined;
  readonly get?: (nth: number) => Mishap | undefined;
  readonly cancel?: (nth: number) => Mishap | undefined;
  readonly events?: (nth: number) => Mishap | undefined;
  /** What the nth stream gets for an event; undefined: the usual. */
  readonly write?: (frame: Frame, nth: number) => Written | undefined;
  /** A stream sends all events again, whatever its `Last-Event-ID`. */
  readonly isForgetful?: boolean;
};

export type GatewayOfClients = PlayedServer & {
  /** How many tasks the submissions have created. */
  created(): number;
  calls(operation: string): readonly Received[];
  close(): Promise<void>;
};

type PlayedTask = { -readonly [Name in keyof Fields]: Fields[Name] };
type OpenStream = {
  readonly response: ServerResponse;
  readonly nth: number;
  /** How many events of the feed it has got. */
  sent: number;
  isSending: boolean;
};

const WORK_MS = 300;
const HOLD_MS_MAX = 2_000;
/** Between two pieces of an event, so that they do not arrive as one. */
const PIECE_MS = 5;
const TASKS = '/api/cli/tasks';
/** Where a redirection goes. */
export const ELSEWHERE = '/elsewhere';
const OTHER_RESULT = { reply: '不是你的', output: 'the result of another task' };
/** How soon a stream that was cut is to be opened again, in milliseconds. */
const RETRY_MS = 500;

/** Creates the gateway; it does not listen yet. `result` is that of a success. */
export function createGatewayOfClients(script: Script, auth: string, result: Fields): GatewayOfClients {
  const { workMs = WORK_MS, holdMsMax = HOLD_MS_MAX, request_id = crypto.randomUUID() } = script;
  const byKey = new Map<unknown, string>();
  const feed: Frame[] = [];
  const streams = new Set<OpenStream>();
  const waiting = new Set<() => void>();
  const timers = new Set<NodeJS.Timeout>();
  let task: PlayedTask | undefined;
  let created = 0;

  const server = createPlayedServer({
    nameOperation,
    async serve(call, response) {
      const { operation } = call;
      const nth = calls(operation).length - 1;
      const mishap = isOperation(operation) ? script[operation]?.(nth) : undefined;
      if (!mishap) return serve(call, response);
      if (mishap.isTorn) return tear(await serve(call, response), response);
      if (mishap.isRedirection) return { status: 307, headers: { location: elsewhere() } };
      if (mishap.isServed) await serve(call, response);
      return mishap.reply ?? 'cut';
    },
  });
  // The same machine under a name that no secret was given for.
  const elsewhere = () => `${server.url.replace('127.0.0.1', 'localhost')}${ELSEWHERE}`;
  const calls = (operation: string) => server.received.filter((call) => call.operation === operation);

  async function serve(call: Received, response: ServerResponse): Promise<Reply | undefined> {
    const { operation, secret, url } = call;
    if (secret !== auth) return problem(401, 'unauthorized');
    if (operation === 'submit') return submit(call);
    if (operation === 'events') return void stream(call, response);
    const id = url.pathname.slice(TASKS.length + 1).replace(/\/cancel$/, '');
    if (!task || decode(id) !== request_id) return problem(404, 'task_not_found');
    if (operation === 'get') return get(call, response);
    if (operation !== 'cancel') return problem(404, 'route_not_found');
    if (isTerminal()) return problem(400, 'task_terminal');
    end({ status: 'failed', result: null, error_info: 'cancelled by user' });
    return receipt({ request_id });
  }

  async function submit({ body, headers }: Received): Promise<Reply> {
    const { auth: _, ...submission } = body;
    const key = headers['idempotency-key'];
    const content = JSON.stringify(submission);
    const former = key === undefined ? undefined : byKey.get(key);
    if (former !== undefined && former !== content) return problem(422, 'idempotency_conflict');
    const { timeout = 600, cli_session_id = '', task_type, task_tags, payload } = submission;
    const pending = { request_id, task_type, task_tags, payload, status: 'pending', agent_id: null };
    const rest = { cli_session_id, create_time: Date.now() / 1_000, timeout, progress: 0 };
    const fresh = { ...pending, ...rest, result: null, error_info: null };
    if (former === undefined) {
      if (key !== undefined) byKey.set(key, content);
      created += 1;
      if (created === 1) begin(fresh);
    }
    await pause(script.responseMs ?? 0);
    return { status: 200, body: { ...fresh, ...NEWER } };
  }

  function begin(fresh: Fields): void {
    task = { ...fresh };
    for (let nth = 0; nth < (script.others ?? 0); nth += 1)
      announce({
        request_id: crypto.randomUUID(),
        status: 'success',
        result: OTHER_RESULT,
        error_info: null,
      });
    later(workMs / 2, () => {
      // Timers that are late may come in another order.
      if (!isTerminal()) Object.assign(task ?? {}, { status: 'running', agent_id: 'a', progress: 50 });
    });
    later(workMs, () => end({ status: 'success', progress: 100, result, ...script.end }));
  }

  function end(fields: Fields): void {
    if (isTerminal()) return;
    Object.assign(task ?? {}, fields);
    for (const release of waiting) release();
    const { status, result: ended, error_info } = task ?? {};
    announce({ request_id, status, result: ended, error_info });
  }

  function isTerminal(): boolean {
    return task?.status === 'success' || task?.status === 'failed';
  }

  async function get({ url }: Received, response: ServerResponse): Promise<Reply> {
    const seconds = Number(url.searchParams.get('wait') ?? 0);
    const holdMs = Math.min(seconds > 0 ? seconds * 1_000 : 0, holdMsMax);
    if (!isTerminal() && holdMs > 0)
      await new Promise<void>((resolve) => {
        const release = (): void => {
          waiting.delete(release);
          resolve();
        };
        waiting.add(release);
        later(holdMs, release);
        response.once('close', release);
      });
    const { outcome = String(task?.status) } = script;
    return {
      status: 200,
      body: { ...task, ...NEWER },
      ...(isTerminal() && { headers: { 'task-outcome': outcome } }),
    };
  }

  function announce(ended: Fields): void {
    const data = JSON.stringify({ event: 'task_done', ...ended, ...NEWER });
    const id = idAt(feed.length);
    feed.push({ id, data, index: feed.length, isOwn: ended.request_id === request_id });
    for (const one of streams) void send(one);
  }

  function stream(call: Received, response: ServerResponse): void {
    const { headers, url } = call;
    const last = headers['last-event-id'] || url.searchParams.get('last_event_id');
    const sent = script.isForgetful ? 0 : feed.findIndex(({ id }) => id === last) + 1;
    const type = 'text/event-stream; charset=utf-8';
    call.status = 200;
    response.writeHead(200, { ...VERSION_HEADER, 'content-type': type, 'cache-control': 'no-store' });
    response.write(`retry: ${RETRY_MS}\n\n: ready\n\n`);
    const one: OpenStream = { response, nth: calls('events').length - 1, sent, isSending: false };
    streams.add(one);
    response.once('close', () => streams.delete(one));
    void send(one);
  }

  /** Sends the events that the stream has not got, and goes on as the feed grows. */
  async function send(one: OpenStream): Promise<void> {
    if (one.isSending) return;
    one.isSending = true;
    const { response, nth } = one;
    for (let frame = feed[one.sent]; frame && !response.destroyed; frame = feed[one.sent]) {
      one.sent += 1;
      const { id, data } = frame;
      const usual = { pieces: [`id: ${id}\ndata: ${data}\n\n`], isCut: false };
      const { pieces, isCut } = script.write?.(frame, nth) ?? usual;
      for (const piece of pieces) {
        response.write(piece);
        if (pieces.length > 1) await pause(PIECE_MS);
      }
      if (isCut) {
        // What was written goes out first.
        await pause(50);
        response.destroy();
      }
    }
    one.isSending = false;
  }

  function later(ms: number, run: () => void): void {
    const timer = setTimeout(() => {
      timers.delete(timer);
      run();
    }, ms);
    timers.add(timer);
  }

  return {
    get url() {
      return server.url;
    },
    received: server.received,
    exchanges: server.exchanges,
    created: () => created,
    calls,
    listen: server.listen,
    stopListening: server.stopListening,
    async close() {
      for (const timer of timers) clearTimeout(timer);
      for (const release of waiting) release();
      await server.stopListening();
    },
  };
}

const OPERATIONS = ['submit', 'get', 'cancel', 'events'] as const;

/** The id of an event by its place in the feed. */
export function idAt(index: number): string {
  return `${1_763_611_431_044 + index}-0`;
}

function isOperation(name: string): name is (typeof OPERATIONS)[number] {
  return OPERATIONS.some((one) => one === name);
}

function nameOperation(method: string, path: string): string {
  if (path === TASKS) return method === 'POST' ? 'submit' : '';
  if (path === '/api/cli/events') return method === 'GET' ? 'events' : '';
  if (!path.startsWith(`${TASKS}/`)) return '';
  // Calls of their own, which this gateway lacks.
  if (method === 'GET') return ['explain', 'output'].find((one) => path.endsWith(`/${one}`)) ?? 'get';
  return method === 'POST' && path.endsWith('/cancel') ? 'cancel' : '';
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Sends half of a response's body and cuts the connection. */
function tear(reply: Reply | undefined, response: ServerResponse): undefined {
  const bytes = Buffer.from(JSON.stringify(reply?.body ?? {}));
  response.writeHead(reply?.status ?? 200, {
    ...VERSION_HEADER,
    'content-type': 'application/json',
    'content-length': bytes.length,
  });
  response.write(bytes.subarray(0, bytes.length / 2), () => setTimeout(() => response.destroy(), 50));
  return undefined;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
