/**
 * A small client that does all that is required of one, without a process of its own. The controls of the kit
 * plant their faults in it and on its wire. It gets the result from its session's stream, or polls. With
 * streams it also shows what the task's agent writes, and answers its questions.
 */
import { createEventParser, type StreamEvent } from './event-stream.ts';
import { type Fields, isFields, listOf } from './findings.ts';
import { createSendCall, type PartyAnswer, type PartyCall, type WireParts } from './party-wire.ts';
import type { StartedCommand, Starter } from './started-command.ts';
import { pause } from './trial-streams.ts';

type End = { readonly status?: unknown; readonly result?: unknown };

/** The parts of the client that a fault may change. */
type ClientParts = WireParts & {
  /** How long it waits between two polls. */
  readonly pollMs: number;
  /** Whether it subscribes before it submits. */
  readonly isEarly: boolean;
  /** Creates a function that turns a stream's bytes into events. */
  readonly newReader: () => (bytes: Uint8Array) => readonly StreamEvent[];
  /** Returns the id behind which a stream continues. */
  readonly lastId: (id: string, bytes: string) => string;
  /** Whether an event may be the end of the task. */
  readonly isTaskDone: (event: StreamEvent, data: Fields) => boolean;
  readonly isOwn: (data: Fields, request_id: unknown) => boolean;
  /** Whether it gets its task when events were deleted. */
  readonly minds: (event: StreamEvent) => boolean;
  /** Whether it keeps events that come before the response to its submission. */
  readonly keepsEarly: boolean;
  /** Whether the piece `n` is new, if `last` is the piece that it showed last. */
  readonly isNew: (n: number, last: number) => boolean;
  /** Returns the ends that it prints, given the events of its task and the end that it believes. */
  readonly printed: (events: readonly Fields[], ended: End) => readonly End[];
  /** Called when a stream was cut. */
  readonly onCut: () => void;
};

/** Changes parts of a client. Parts that it leaves out stay as they are. */
export type ClientPlant = (parts: ClientParts) => Partial<ClientParts>;

type Follower = {
  readonly take: (event: StreamEvent) => void;
  readonly opened?: () => void;
  readonly closed?: () => void;
  readonly isOver?: () => boolean;
};

const PAUSE_MS = 50;
const RETRIES_MAX = 60;
const WAIT_SECONDS = 20;
const TASKS = '/api/cli/tasks';

/** Starts the client in this process, with a fault. */
export function startsScriptedClient(plant: ClientPlant, isPolling = false): Starter {
  return { isCommand: true, start: (environment) => startScripted(environment, plant, isPolling) };
}

/** Whether a call may succeed when it is made again. */
function isPassing({ status }: PartyAnswer): boolean {
  return status === 0 || status === 408 || status === 429 || status >= 500;
}

/** Returns how long the client waits before it makes a call again. */
function pauseMs({ headers }: PartyAnswer): number {
  return Math.max(PAUSE_MS, Number(headers.get('retry-after') ?? 0) * 1_000);
}

function startScripted(
  environment: Readonly<Record<string, string>>,
  plant: ClientPlant,
  isPolling: boolean,
): StartedCommand {
  const { TASK_GATEWAY_URL: url, TASK_GATEWAY_AUTH: auth = '', TASK_ANSWER = 'null' } = environment;
  const authorization = `Bearer ${auth}`;
  const dying = new AbortController();
  const session = `会话-${crypto.randomUUID()}`;
  /** The events that may be the end of the task, in order. */
  const seen: Fields[] = [];
  let shown = '';
  let output = '';
  let exitCode: number | null = null;
  let request_id: unknown;
  let isDown = isPolling;
  let lastPiece = 0;
  let hasOutput = false;
  let wake: () => void = () => {};

  const usual: ClientParts = {
    send: createSendCall(url, dying.signal),
    end: () => end(1),
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
    minds: ({ type }) => type === 'gap',
    keepsEarly: true,
    isNew: (n, last) => n > last,
    printed: (_events, ended) => [ended],
    onCut: () => {},
  };
  const parts: ClientParts = { ...usual, ...plant(usual) };
  const pathOf = (part = ''): string => `${TASKS}/${encodeURIComponent(String(request_id))}${part}`;

  function end(code: number): void {
    if (dying.signal.aborted) return;
    exitCode = code;
    dying.abort();
    wake();
  }

  async function call(
    operation: string,
    method: PartyCall['method'],
    path: string,
    more: { readonly headers?: Readonly<Record<string, string>>; readonly body?: Fields } = {},
  ): Promise<PartyAnswer> {
    const one = { operation, method, path, ...more, headers: { authorization, ...more.headers } };
    for (let count = 0; ; count += 1) {
      const answer = await parts.send(one);
      if (dying.signal.aborted || count >= RETRIES_MAX || !isPassing(answer)) return answer;
      await pause(pauseMs(answer));
    }
  }

  /** Keeps a stream open until the client ends, or the stream is over. */
  async function follow(operation: string, path: string, follower: Follower): Promise<void> {
    const { take, opened, closed, isOver } = follower;
    for (let lastId = ''; !dying.signal.aborted && !isOver?.(); ) {
      const headers = { accept: 'text/event-stream', ...(lastId && { 'last-event-id': lastId }) };
      const one = { operation, method: 'GET', path, headers: { authorization, ...headers } } as const;
      const answer = await parts.send(one);
      if (answer.stream) opened?.();
      try {
        const read = parts.newReader();
        for await (const bytes of answer.stream ?? []) {
          const events = read(bytes);
          lastId = parts.lastId(events.at(-1)?.id || lastId, Buffer.from(bytes).toString());
          for (const event of events) take(event);
        }
      } catch {
        // A stream that was cut is over, like one that has ended.
      }
      closed?.();
      if (answer.stream && !isOver?.()) parts.onCut();
      await pause(pauseMs(answer));
    }
  }

  function takeEvent(event: StreamEvent): void {
    const data = readData(event);
    if (parts.minds(event)) isDown = true;
    if (parts.isTaskDone(event, data) && (parts.keepsEarly || request_id !== undefined)) seen.push(data);
    wake();
  }

  function followSession(opened: () => void): void {
    const path = `/api/cli/events?${new URLSearchParams({ cli_session_id: session })}`;
    void follow('events', path, {
      take: takeEvent,
      opened() {
        isDown = false;
        opened();
      },
      closed() {
        isDown = true;
        opened();
        wake();
      },
    });
  }

  function takePiece({ n, text = '', question, end: isEnd }: Fields): void {
    if (n === undefined || !parts.isNew(Number(n), lastPiece)) return;
    lastPiece = Number(n);
    hasOutput = isEnd === true;
    shown += text;
    if (!isFields(question)) return;
    const body = { key: question.key, answer: JSON.parse(TASK_ANSWER) };
    void call('answer', 'POST', pathOf('/answer'), { body });
  }

  async function read(): Promise<End | undefined> {
    const { status, body } = await call('get', 'GET', pathOf(`?wait=${WAIT_SECONDS}`));
    if (status !== 200) return void parts.end();
    return body.status === 'success' || body.status === 'failed' ? body : undefined;
  }

  async function run(): Promise<void> {
    const isOpen = new Promise<void>((resolve) => {
      if (isPolling) resolve();
      else if (parts.isEarly) followSession(resolve);
      else setTimeout(() => followSession(resolve), 2 * PAUSE_MS);
    });
    if (parts.isEarly) await isOpen;
    const { TASK_TYPE: task_type, TASK_TAG, TASK_PAYLOAD = '{}' } = environment;
    const payload: unknown = JSON.parse(TASK_PAYLOAD);
    const body = { auth, task_type, task_tags: [TASK_TAG], payload, timeout: 60, cli_session_id: session };
    const headers = { 'idempotency-key': crypto.randomUUID() };
    const submitted = await call('submit', 'POST', TASKS, { headers, body });
    if (submitted.status !== 200) return parts.end();
    request_id = submitted.body.request_id;
    const follower: Follower = { take: (event) => takePiece(readData(event)), isOver: () => hasOutput };
    if (!isPolling) void follow('stream', pathOf('/output'), follower);
    while (!dying.signal.aborted) {
      const done = seen.find((data) => parts.isOwn(data, request_id));
      const ended: End | undefined = done ?? (isDown ? await read() : undefined);
      if (ended) return conclude(ended);
      await new Promise<void>((resolve) => {
        wake = resolve;
        if (isDown) setTimeout(resolve, parts.pollMs);
      });
    }
  }

  async function conclude(ended: End): Promise<void> {
    if (!isPolling) {
      const { body } = await call('page', 'GET', pathOf(`/output?after=${lastPiece}`));
      for (const piece of listOf(body.pieces)) takePiece(piece);
    }
    const isSuccess = ended.status === 'success';
    const events = seen.filter((data) => parts.isOwn(data, request_id));
    if (isSuccess)
      for (const { result } of parts.printed(events, ended)) output += `${JSON.stringify(result)}\n`;
    end(isSuccess ? 0 : 1);
  }

  async function cancel(): Promise<void> {
    await call('cancel', 'POST', pathOf('/cancel'));
    end(130);
  }

  void run();
  return {
    isOver: () => dying.signal.aborted,
    printed: () => `${shown}${output}`,
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
