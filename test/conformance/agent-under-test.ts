/**
 * The agent under test: a command that the kit starts, and the gateway that the kit plays for it. All that
 * the agent sends is kept. The next call of a kind may be refused.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { createHmac, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Fields, Finding, requireThat } from './findings.ts';

/** A call of the agent: `register`, `heartbeat`, `claim`, `result` or `unregister`. */
type AgentCall = { readonly name: string; readonly body: Fields };

export type AgentOptions = {
  /** Started by a shell, with the gateway's address and secrets in its environment. */
  readonly command: string;
  /** The payload of the tasks. */
  readonly payload?: Fields;
  readonly limitMs?: number;
  /** More of its environment. */
  readonly env?: Readonly<Record<string, string>>;
};

/** What a push is sent with other than it should be. */
type Forged = { readonly signature?: string; readonly ageSeconds?: number };

export type AgentUnderTest = {
  readonly auth: string;
  /** Every call so far. */
  readonly calls: readonly AgentCall[];
  /** Whether it claims its tasks. */
  isPull(): boolean;
  /** The next call of this name gets this response instead of the usual one. */
  refuseNext(name: string, status: number, code: string): void;
  /** Asks again until something is found; throws a finding that names it where that takes too long. */
  until<T>(what: string, find: () => T | undefined): Promise<T>;
  /** Lets time pass in which something must not happen. */
  pause(): Promise<void>;
  /** Hands a task to it: by a push, of which it returns the status, or at its next claim. */
  deliver(request_id: string, forged?: Forged): Promise<number>;
  /** The reports of a task's end. */
  endsOf(request_id: string): readonly Fields[];
  newTask(): string;
  start(): Promise<void>;
  /** Sends SIGTERM. */
  end(): void;
  close(): Promise<void>;
};

const POLL_MS = 30;
const PAUSE_MS = 1_000;
const SECRET = 'whsec_YSBzZWNyZXQgb2YgdGhlIGtpdCBmb3IgcHVzaGVz';
const KEY = Buffer.from(SECRET.slice('whsec_'.length), 'base64');

/** Creates it; nothing runs before `start`. */
export function createAgentUnderTest(options: AgentOptions): AgentUnderTest {
  const { command, payload = { text: '你好' }, limitMs = 10_000 } = options;
  const auth = `kit-${randomUUID()}`;
  const calls: AgentCall[] = [];
  const refusals = new Map<string, { readonly status: number; readonly code: string }>();
  const waiting: string[] = [];
  let child: ChildProcess | undefined;

  const server = createServer(async (request, response) => {
    const name = (request.url ?? '').replace('/api/agent/', '');
    let text = '';
    for await (const part of request.setEncoding('utf8')) text += part;
    const body: Fields = text.startsWith('{') ? JSON.parse(text) : {};
    calls.push({ name, body });
    // A report on the way is no end: it is always taken.
    const refusal = name === 'result' && body.status === 'running' ? undefined : refusals.get(name);
    if (refusal) refusals.delete(name);
    if (refusal) return respond(response, refusal.status, { ...refusal, detail: 'as the kit was asked to' });
    if (name !== 'claim') return respond(response, 200, receiptOf(name, body));
    const request_id = waiting.shift() ?? (await nextTask(Number(body.wait ?? 0)));
    return request_id === undefined
      ? response.writeHead(204).end()
      : respond(response, 200, taskOf(request_id));
  });

  async function nextTask(seconds: number): Promise<string | undefined> {
    const endMs = performance.now() + Math.min(seconds, 1) * 1_000;
    while (waiting.length === 0 && performance.now() < endMs)
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    return waiting.shift();
  }

  function registration(): Fields {
    return calls.findLast(({ name }) => name === 'register')?.body ?? {};
  }

  function taskOf(request_id: string): Fields {
    const { agent_id, agent_tags } = registration();
    const now = Date.now() / 1_000;
    return {
      request_id,
      task_type: 'conformance',
      task_tags: agent_tags,
      payload,
      status: 'running',
      agent_id,
      cli_session_id: '',
      create_time: now,
      timeout: 60,
      progress: 0,
      result: null,
      error_info: null,
    };
  }

  const agent: AgentUnderTest = {
    auth,
    calls,
    isPull: () => registration().endpoint === 'pull',
    refuseNext: (name, status, code) => void refusals.set(name, { status, code }),
    async until(what, find) {
      const endMs = performance.now() + limitMs;
      for (;;) {
        const found = find();
        if (found !== undefined) return found;
        requireThat(
          child?.exitCode === null,
          `The agent ended with ${child?.exitCode} before this: ${what}.`,
        );
        if (performance.now() > endMs) throw new Finding(`Not within ${limitMs / 1_000} s: ${what}.`);
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      }
    },
    pause: () => new Promise((resolve) => setTimeout(resolve, PAUSE_MS)),
    async deliver(request_id, { signature, ageSeconds = 0 } = {}) {
      if (agent.isPull()) {
        waiting.push(request_id);
        return 200;
      }
      const body = JSON.stringify(taskOf(request_id));
      const timestamp = String(Math.floor(Date.now() / 1_000) - ageSeconds);
      const signed = createHmac('sha256', KEY).update(`${request_id}.${timestamp}.${body}`).digest('base64');
      const headers = {
        'content-type': 'application/json',
        'webhook-id': request_id,
        'webhook-timestamp': timestamp,
        'webhook-signature': signature ?? `v1,${signed}`,
        'task-remaining': '60',
        traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
      };
      const endpoint = String(registration().endpoint);
      const signal = AbortSignal.timeout(limitMs);
      const response = await fetch(endpoint, { method: 'POST', headers, body, signal }).catch(
        (error: Error) => {
          throw new Finding(`A push to ${endpoint} got no response: ${error.message}.`);
        },
      );
      await response.body?.cancel();
      return response.status;
    },
    endsOf: (request_id) =>
      calls
        .filter(
          ({ name, body }) =>
            name === 'result' && body.request_id === request_id && body.status !== 'running',
        )
        .map(({ body }) => body),
    newTask: () => randomUUID(),
    async start() {
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const own = { TASK_GATEWAY_URL: url, TASK_GATEWAY_AUTH: auth, TASK_GATEWAY_PUSH_SECRET: SECRET };
      const env = { ...process.env, ...own, ...options.env };
      child = spawn(`exec ${command}`, { shell: true, env, stdio: ['ignore', 'ignore', 'inherit'] });
    },
    end: () => void child?.kill('SIGTERM'),
    async close() {
      if (child && child.exitCode === null && child.signalCode === null) {
        child.kill('SIGKILL');
        await once(child, 'exit');
      }
      server.closeAllConnections();
      server.close();
    },
  };
  return agent;
}

function receiptOf(name: string, { agent_id, request_id, status }: Fields): Fields {
  if (name === 'result') return { ok: true, request_id, status, accepted: true };
  if (name === 'unregister') return { ok: true, agent_id };
  const receipt = { ok: true, agent_id, state: 'ready', cancelled_request_ids: [] };
  return name === 'heartbeat'
    ? receipt
    : { ...receipt, registration: 'r', heartbeat_interval: 1, offline_after: 90 };
}

function respond(response: ServerResponse, status: number, body: Fields): void {
  const type = status < 300 ? 'application/json' : 'application/problem+json';
  response.writeHead(status, { 'content-type': type, ...(status === 503 ? { 'retry-after': '1' } : {}) });
  response.end(JSON.stringify(body));
}
