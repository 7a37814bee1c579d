/**
 * A small client that does all that is required of one, without a process of its own: the controls of the kit
 * plant their faults in it. It has the result from its stream, or polls.
 */
import { createEventParser, type StreamEvent } from './event-stream.ts';
import { type Fields, isFields } from './findings.ts';
import type { StartedCommand, Starter } from './started-command.ts';

/** What a call gets: 0 where there was no response. */
export type ClientAnswer = {
  readonly status: number;
  readonly body: Fields;
  readonly headers: Headers;
};
export type ClientCall = {
  readonly operation: 'submit' | 'get' | 'cancel';
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Fields;
};
type End = { readonly status?: unknown; readonly result?: unknown; readonly error_info?: unknown };

/** The parts of the client that a fault may change. */
type ClientParts = {
  /** Makes one call, once. */
  readonly send: (call: ClientCall) => Promise<ClientAnswer>;
  readonly encode: (body: Fields) => Uint8Array<ArrayBuffer>;
  readonly newKey: () => string;
  /** The session that the stream subscribes to, of the one that is submitted. */
  readonly subscribed: (session: string) => string;
  /** Whether a call that got this is made again. */
  readonly isAgain: (answer: ClientAnswer, call: ClientCall) => boolean;
  /** How long the client waits before that. */
  readonly pauseMs: (answer: ClientAnswer) => number;
  /** How long it waits between two polls. */
  readonly pollMs: number;
  /** Whether it subscribes before it submits. */
  readonly isEarly: boolean;
  /** Creates what turns the bytes of a stream into events. */
  readonly newReader: () => (bytes: Uint8Array) => readonly StreamEvent[];
  /** The id that a stream continues behind. */
  readonly lastId: (id: string, bytes: string) => string;
  /** Events that may be the end of the task. */
  readonly isTaskDone: (event: StreamEvent, data: Fields) => boolean;
  readonly isOwn: (data: Fields, request_id: unknown) => boolean;
  /** Whether the client can go on without its stream. */
  readonly canPoll: boolean;
  /** Whether it asks for its task when events were deleted. */
  readonly minds: (event: StreamEvent) => boolean;
  /** Whether it keeps the events that come before the response to its submission. */
  readonly keepsEarly: boolean;
  readonly isTerminal: (task: Fields, headers: Headers) => boolean;
  readonly print: (text: string) => void;
  /** The ends that it prints, of the events of its task and of the one that it goes by. */
  readonly printed: (events: readonly Fields[], ended: End) => readonly Pick<End, 'result'>[];
  /** Its stream was cut, or could not be opened. */
  readonly onCut: () => void;
  readonly onRefused: () => void;
  /** The exit code of an end. */
  readonly finish: (end: End) => number;
  readonly fail: () => void;
};

/** Changes parts of a client; those that it leaves out stay as they are. */
export type ClientPlant = (parts: ClientParts) => Partial<ClientParts>;

const PAUSE_MS = 50;
const RETRIES_MAX = 60;
const WAIT_SECONDS = 20;
const NO_ANSWER: ClientAnswer = { status: 0, body: {}, headers: new Headers() };

/** Starts the client in this process, with a fault. */
export function startsScriptedClient(plant: ClientPlant, isPolling = false): Starter {
  return { isCommand: true, start: (environment) => startScripted(environment, plant, isPolling) };
}

/** Whether a call may succeed when it is made again. */
export function isPassing({ status }: ClientAnswer): boolean {
  return status === 0 || status === 408 || status === 429 || status >= 500;
}

function startScripted(
  environment: Readonly<Record<string, string>>,
  plant: ClientPlant,
  isPolling: boolean,
): StartedCommand {
  const { TASK_GATEWAY_URL: url, TASK_GATEWAY_AUTH: auth = '', TASK_PAYLOAD = '{}' } = environment;
  const dying = new AbortController();
  const session = `会话-${crypto.randomUUID()}`;
  /** The events that may be the end of the task, in their order. */
  const seen: Fields[] = [];
  let output = '';
  let exitCode: number | null = null;
  let request_id: unknown;
  let isDown = isPolling;
  let wake: () => void = () => {};

  const usual: ClientParts = {
    encode: (body) => Buffer.from(JSON.stringify(body)),
    newKey: () => crypto.randomUUID(),
    subscribed: (name) => name,
    isAgain: isPassing,
    pauseMs: ({ headers }) => Math.max(PAUSE_MS, Number(headers.get('retry-after') ?? 0) * 1_000),
    pollMs: PAUSE_MS,
    isEarly: true,
    newReader() {
      const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
      const take = createEventParser();
      return (bytes) => take(decoder.decode(bytes, { stream: true }));
    },
    lastId: (id) => id,
    isTaskDone: ({ type }, data) => type === 'message' && data.event === 'task_done',
    isOwn: (data, id) => data.request_id === id,
    canPoll: true,
    minds: ({ type }) => type === 'gap',
    keepsEarly: true,
    isTerminal: ({ status }) => status === 'success' || status === 'failed',
    print(text) {
      output += text;
    },
    printed: (_events, ended) => [ended],
    onCut: () => {},
    onRefused: () => {},
    finish: ({ status }) => (status === 'success' ? 0 : 1),
    fail: () => end(1),
    async send({ method, path, headers, body }) {
      try {
        const response = await fetch(`${url}${path}`, {
          method,
          headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
          redirect: 'manual',
          signal: dying.signal,
          ...(body && { body: parts.encode(body) }),
        });
        const value: unknown = await response.json().catch(() => ({}));
        const isWhole = response.status !== 200 || (isFields(value) && Object.keys(value).length > 0);
        if (!isWhole) return NO_ANSWER;
        return { status: response.status, body: isFields(value) ? value : {}, headers: response.headers };
      } catch {
        return NO_ANSWER;
      }
    },
  };
  const parts: ClientParts = { ...usual, ...plant(usual) };

  function end(code: number): void {
    if (dying.signal.aborted) return;
    exitCode = code;
    dying.abort();
    wake();
  }

  async function call(one: ClientCall): Promise<ClientAnswer> {
    for (let count = 0; ; count += 1) {
      const answer = await parts.send(one);
      if (dying.signal.aborted || count >= RETRIES_MAX || !parts.isAgain(answer, one)) return answer;
      await pause(parts.pauseMs(answer));
    }
  }

  function take(event: StreamEvent): void {
    const data = readData(event);
    if (parts.minds(event)) isDown = true;
    if (parts.isTaskDone(event, data) && (parts.keepsEarly || request_id !== undefined)) seen.push(data);
    wake();
  }

  /** Keeps the stream open until the client ends. */
  async function follow(opened: () => void): Promise<void> {
    let lastId = '';
    while (!dying.signal.aborted) {
      const query = new URLSearchParams({ cli_session_id: parts.subscribed(session), auth });
      let waitMs = PAUSE_MS;
      let isOpen = false;
      try {
        const headers: Record<string, string> = lastId === '' ? {} : { 'last-event-id': lastId };
        const address = `${url}/api/cli/events?${query}`;
        const response = await fetch(address, { headers, redirect: 'manual', signal: dying.signal });
        if (response.status === 200) {
          opened();
          isDown = false;
          isOpen = true;
          const read = parts.newReader();
          for await (const bytes of response.body ?? []) {
            const events = read(bytes);
            lastId = parts.lastId(events.at(-1)?.id || lastId, Buffer.from(bytes).toString());
            for (const event of events) take(event);
          }
        } else waitMs = parts.pauseMs({ status: response.status, body: {}, headers: response.headers });
      } catch {
        // A cut is as much an end as a last byte.
      }
      isDown = true;
      if (isOpen) parts.onCut();
      else parts.onRefused();
      opened();
      wake();
      await pause(waitMs);
    }
  }

  async function read(): Promise<End | undefined> {
    const path = `/api/cli/tasks/${encodeURIComponent(String(request_id))}?wait=${WAIT_SECONDS}`;
    const headers = { authorization: `Bearer ${auth}` };
    const answer = await call({ operation: 'get', method: 'GET', path, headers });
    if (answer.status !== 200) return void parts.fail();
    if (!parts.isTerminal(answer.body, answer.headers)) return undefined;
    const { status, result, error_info } = answer.body;
    return { status, result, error_info };
  }

  async function run(): Promise<void> {
    const isOpen = new Promise<void>((resolve) => {
      if (isPolling) resolve();
      else if (parts.isEarly) void follow(resolve);
      else setTimeout(() => void follow(resolve), 2 * PAUSE_MS);
    });
    if (parts.isEarly) await isOpen;
    const { TASK_TYPE: task_type, TASK_TAG } = environment;
    const payload: unknown = JSON.parse(TASK_PAYLOAD);
    const body = { auth, task_type, task_tags: [TASK_TAG], payload, timeout: 60, cli_session_id: session };
    const headers = { 'idempotency-key': parts.newKey() };
    const path = '/api/cli/tasks';
    const submitted = await call({ operation: 'submit', method: 'POST', path, headers, body });
    if (submitted.status !== 200) return parts.fail();
    request_id = submitted.body.request_id;
    while (!dying.signal.aborted) {
      const done = seen.find((data) => parts.isOwn(data, request_id));
      const ended = done ?? (isDown && parts.canPoll ? await read() : undefined);
      if (ended) return conclude(ended);
      await new Promise<void>((resolve) => {
        wake = resolve;
        if (isDown) setTimeout(resolve, parts.pollMs);
      });
    }
  }

  function conclude(ended: End): void {
    const code = parts.finish(ended);
    const events = seen.filter((data) => parts.isOwn(data, request_id));
    if (code === 0)
      for (const { result } of parts.printed(events, ended)) parts.print(`${JSON.stringify(result)}\n`);
    end(code);
  }

  async function cancel(): Promise<void> {
    const path = `/api/cli/tasks/${encodeURIComponent(String(request_id))}/cancel`;
    const headers = { authorization: `Bearer ${auth}` };
    await call({ operation: 'cancel', method: 'POST', path, headers });
    end(130);
  }

  void run();
  return {
    isOver: () => dying.signal.aborted,
    printed: () => output,
    output: () => output,
    exitCode: () => exitCode,
    signal: (name) => (name === 'SIGINT' ? void cancel() : end(137)),
  };
}

function readData({ data }: StreamEvent): Fields {
  try {
    const value: unknown = JSON.parse(data);
    return isFields(value) ? value : {};
  } catch {
    return {};
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
