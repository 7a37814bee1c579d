/**
 * The gateway under test, over plain HTTP: calls with a time limit, and streams of events. A call without a
 * response is a finding about the gateway, never an error of the kit.
 */
import { findMismatch, type Mismatch } from './documented.ts';
import { createEventParser, type StreamEvent } from './event-stream.ts';
import { currentExchanges, describeExchange } from './exchanges.ts';
import { type Fields, Finding, isFields, printValue, requireThat } from './findings.ts';

/** Sends a request: `fetch`, or in a test of the kit itself what stands in front of it. */
export type Send = (url: string, init: SentRequest) => Promise<Response>;

export type SentRequest = {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal;
};

/** What a call sends besides its method and path. */
type Sent = {
  readonly query?: Readonly<Record<string, string>>;
  /** Sent as JSON, without fields that are absent. */
  readonly json?: unknown;
  /** Sent as it is, instead of JSON. */
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
};

export type Answer = {
  /** Its method and path, for messages. */
  readonly call: string;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as JSON; undefined if it is no JSON. */
  readonly json: unknown;
};

export type EventStream = {
  readonly status: number;
  readonly headers: Headers;
  /** The events that were received so far. */
  readonly events: readonly StreamEvent[];
  /** Whether the gateway has not ended it yet. */
  isOpen(): boolean;
  close(): void;
};

export type Subject = {
  readonly baseUrl: string;
  /** Returns the gateway's version as its responses say it; null if they do not. */
  version(): string | null;
  /** Returns the calls under way when the gateway stopped responding; undefined while it responds. */
  silence(): string | undefined;
  call(method: string, path: string, sent?: Sent): Promise<Answer>;
  openStream(
    query: Readonly<Record<string, string>>,
    headers?: Readonly<Record<string, string>>,
    /** By default the path of a session's events. */
    path?: string,
  ): Promise<EventStream>;
  /** Closes the streams and gives up the open calls. */
  close(): void;
};

/** A subject that responds to none of so many probes counts as dead. */
const PROBES = 2;
const PROBE_PAUSE_MS = 500;
const SENT_SHOWN = 3;

/** Creates the subject; `limitMs` is how long a response may take. */
export function createSubject(baseUrl: string, send: Send, limitMs: number): Subject {
  const root = baseUrl.replace(/\/+$/, '');
  const closing = new AbortController();
  let version: string | null = null;
  /** The calls that have no response yet, the oldest first. */
  const waiting: string[] = [];
  let probing: Promise<boolean> | undefined;
  let silence: string | undefined;

  async function request(call: string, url: string, init: Omit<SentRequest, 'signal'>, signal: AbortSignal) {
    try {
      waiting.push(call);
      const response = await send(url, { ...init, signal });
      version ??= response.headers.get('task-gateway-version');
      return response;
    } catch (error) {
      if (closing.signal.aborted) throw new Error('The run was ended.', { cause: error });
      keep(call, 0);
      const others = waiting.filter((one) => one !== call && !one.startsWith('GET '));
      const sent = [call, ...others].slice(0, SENT_SHOWN).join(', ');
      probing ??= probe().finally(() => {
        probing = undefined;
      });
      if (!(await probing)) silence ??= sent;
      throw new Finding(`${call}: no response (${explainError(error)}).`);
    } finally {
      waiting.splice(waiting.indexOf(call), 1);
    }
  }

  /** Whether it responds to anything. */
  async function probe(): Promise<boolean> {
    for (let count = 0; count < PROBES; count += 1) {
      const signal = AbortSignal.any([closing.signal, AbortSignal.timeout(limitMs)]);
      const response = await send(`${root}/`, { method: 'GET', headers: {}, signal }).catch(() => undefined);
      if (response) return response.body?.cancel().then(() => true) ?? true;
      await new Promise((resolve) => setTimeout(resolve, PROBE_PAUSE_MS));
    }
    return false;
  }

  const keep = (
    call: string,
    status: number,
    got?: unknown,
    sent?: unknown,
    mismatch?: Mismatch | undefined,
  ): void => void currentExchanges()?.own.push({ ...describeExchange(call, status, got, sent), mismatch });

  async function answer(
    method: string,
    path: string,
    { query = {}, json, body: given, headers = {} }: Sent = {},
  ): Promise<Answer> {
    const search = new URLSearchParams(query).toString();
    const url = `${root}${path}${search === '' ? '' : `?${search}`}`;
    const call = `${method} ${path}`;
    const signal = AbortSignal.any([closing.signal, AbortSignal.timeout(limitMs)]);
    const text = given ?? (json === undefined ? undefined : JSON.stringify(json));
    const body = text === undefined ? {} : { body: text };
    const type: Record<string, string> = text === undefined ? {} : { 'content-type': 'application/json' };
    const response = await request(call, url, { method, headers: { ...type, ...headers }, ...body }, signal);
    const received = await response.text().catch((error: unknown) => {
      if (closing.signal.aborted) throw new Error('The run was ended.', { cause: error });
      throw new Finding(`${call}: the response was cut off (${explainError(error)}).`);
    });
    const { status } = response;
    const parsed = parseJson(received);
    keep(call, status, parsed, json, findMismatch(call, response, parsed));
    return { call, status, headers: response.headers, text: received, json: parsed };
  }

  return {
    baseUrl: root,
    version: () => version,
    silence: () => silence,
    call(method, path, sent) {
      const answering = answer(method, path, sent);
      // Once a check has found something, nobody awaits its other calls.
      answering.catch(() => undefined);
      return answering;
    },
    async openStream(query, headers = {}, path = '/api/cli/events') {
      const url = `${root}${path}?${new URLSearchParams(query)}`;
      const ending = new AbortController();
      const signal = AbortSignal.any([closing.signal, ending.signal]);
      const late = setTimeout(() => ending.abort(new Error(`none within ${limitMs / 1_000} s`)), limitMs);
      const call = `GET ${path}`;
      const response = await request(call, url, { method: 'GET', headers }, signal);
      clearTimeout(late);
      const { status } = response;
      const isStream = response.headers.get('content-type')?.startsWith('text/event-stream');
      keep(
        call,
        status,
        undefined,
        undefined,
        isStream ? findMismatch(call, response, undefined) : undefined,
      );
      const kept = currentExchanges();
      const noteData = (data: unknown): void => {
        const mismatch = findMismatch(call, response, data);
        if (mismatch) kept?.own.push({ ...describeExchange(call, status, data), mismatch });
      };
      return readStream(response, noteData, () => ending.abort());
    },
    close: () => closing.abort(),
  };
}

/** Returns the response's JSON object. Throws a finding for a status other than 2xx or another body. */
export function requireObject(answer: Answer): Fields {
  const { call, status, json, text } = answer;
  if (status < 200 || status >= 300) {
    const cause = describeExchange(call, status, json);
    throw new Finding(`${call}: ${status} ${text.slice(0, 200)}; must be a 2xx.`, { cause });
  }
  requireThat(isFields(json), `${call}: the body is ${printValue(json ?? text)}, and must be a JSON object.`);
  return json;
}

/** Throws a finding unless a response is a problem with this status and code. */
export function requireProblem(answer: Answer, status: number, code: string, when: string): void {
  requireStatus(answer, status, when);
  const { call, json } = answer;
  const seen = isFields(json) ? [json.code, json.status] : [];
  requireThat(
    seen[0] === code && seen[1] === status,
    `${call} ${when}: the problem is ${printValue(json)}; must have the code ${code} and the status ${status}.`,
  );
}

/** Throws a finding if a response has another status. */
export function requireStatus({ call, status, text }: Answer, expected: number, when: string): void {
  requireThat(status === expected, `${call} ${when}: ${status} ${text.slice(0, 120)}; must be ${expected}.`);
}

/** Reads a stream. `note` gets the JSON of each event without a type of its own. */
function readStream(response: Response, note: (data: unknown) => void, end: () => void): EventStream {
  const events: StreamEvent[] = [];
  let isOpen = response.body !== null;
  const take = createEventParser();
  const decoder = new TextDecoder();
  const read = async (): Promise<void> => {
    for await (const bytes of response.body ?? []) {
      const taken = take(decoder.decode(bytes, { stream: true }));
      for (const { type, data } of taken) if (type === 'message') note(parseJson(data) ?? data);
      events.push(...taken);
    }
  };
  // A stream that was cut has ended, like a complete one.
  read()
    .catch(() => {})
    .finally(() => {
      isOpen = false;
    });
  return { status: response.status, headers: response.headers, events, isOpen: () => isOpen, close: end };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function explainError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (cause instanceof Error) return 'code' in cause ? String(cause.code) : cause.message;
  return error.message;
}
