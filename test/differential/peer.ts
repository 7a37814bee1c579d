/** A gateway under observation: what is sent to it, and what of its responses is compared with another's. */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

export const SECRETS = { gateway: 'a-gateway-secret-for-tests', admin: 'an-admin-secret-for-tests' };

export type Fields = Readonly<Record<string, unknown>>;
type Answer = { readonly status: number; readonly body: Fields };
/** How an agent responds to its pushes, one after the other; the last one again and again. */
export type Script = readonly { readonly status: number; readonly retryAfter?: number }[];

export type Peer = {
  readonly baseUrl: string;
  /** What was observed, each as one line of text. */
  readonly seen: string[];
  /** Sends a request and records what is compared: status, code, pointers and body. */
  send(label: string, method: string, path: string, more?: Sent): Promise<Answer>;
  /** Sends a request that only prepares something. */
  call(method: string, path: string, more?: Sent): Promise<Answer>;
  record(label: string, value: unknown): void;
  /** Starts an agent that takes pushes; returns its endpoint and what it was pushed. */
  startAgent(script?: Script): Promise<{ readonly endpoint: string; readonly pushed: readonly Pushed[] }>;
  /** Replaces what differs from run to run by what it is. */
  normalize(value: unknown): unknown;
  stop(): Promise<void>;
};

type Sent = {
  readonly json?: unknown;
  readonly text?: string | Uint8Array<ArrayBuffer>;
  readonly headers?: Readonly<Record<string, string>>;
};
type Pushed = { readonly headers: IncomingMessage['headers']; readonly body: Fields };

/** What is different in each run, and what it must look like. */
const VARYING: readonly (readonly [RegExp, RegExp, string])[] = [
  [/(^|_)time$|_since$/, /^\d{10}(\.\d{1,3})?$/, 'seconds'],
  [/^last_ms$/, /^\d+(\.\d+)?$/, 'milliseconds'],
  [/^registration$/, /^.{1,256}$/, 'token'],
  [/^next_cursor$/, /^.+$/, 'cursor'],
];
const COMPARED_HEADERS = ['content-type', 'allow', 'cache-control', 'retry-after', 'x-accel-buffering'];

/** Creates the observer of a gateway. */
export function createPeer(baseUrl: string): Peer {
  const ids = new Map<string, string>();
  const seen: string[] = [];
  const closers: (() => Promise<void>)[] = [];

  function normalize(value: unknown, key = ''): unknown {
    if (Array.isArray(value)) {
      const all = value.map((one) => normalize(one, key));
      // Of errors no order is promised.
      return key === 'errors' ? all.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)) : all;
    }
    if (typeof value === 'object' && value !== null) {
      const entries = Object.entries(value).filter(([name]) => !['title', 'detail'].includes(name));
      return Object.fromEntries(entries.map(([name, inner]) => [name, normalize(inner, name)]).sort());
    }
    const text = String(value);
    if (/request_ids?$/.test(key) && text.length > 20) {
      if (!ids.has(text)) ids.set(text, `task ${ids.size + 1}`);
      return ids.get(text);
    }
    if (key === 'endpoint' && text.startsWith('http')) return 'URL';
    if (key === 'last_error' && value !== null) return 'text';
    const varying = VARYING.find(([name, form]) => name.test(key) && value !== null && form.test(text));
    return varying ? varying[2] : value;
  }

  async function call(method: string, path: string, { json, text, headers = {} }: Sent = {}) {
    const body = json === undefined ? text : JSON.stringify(json);
    const response = await fetch(baseUrl + path, {
      method,
      headers: { ...(json !== undefined && { 'content-type': 'application/json' }), ...headers },
      ...(body !== undefined && { body }),
    });
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream');
    if (isStream) await response.body?.cancel();
    const read = isStream ? 'a stream' : await response.text();
    const isJson = response.headers.get('content-type')?.includes('json') === true;
    return { status: response.status, body: isJson && read !== '' ? JSON.parse(read) : { read }, response };
  }

  return {
    baseUrl,
    seen,
    normalize,
    call,
    async send(label, method, path, more) {
      const answer = await call(method, path, more);
      const headers = COMPARED_HEADERS.map((name) => {
        const values = (answer.response.headers.get(name) ?? '-').split(', ');
        return values.sort().join();
      });
      const isShared =
        Array.isArray(answer.body.agents) || (label.startsWith('listTasks') && answer.status === 200);
      this.record(label, [answer.status, headers.join(' '), isShared ? 'all' : normalize(answer.body)]);
      return answer;
    },
    record: (label, value) => void seen.push(`${label}: ${JSON.stringify(value)}`),
    async startAgent(script = [{ status: 202 }]) {
      const pushed: Pushed[] = [];
      const server = createServer(async (req, res) => {
        const parts: Buffer[] = [];
        for await (const part of req) parts.push(part);
        const { status = 202, retryAfter } = script[Math.min(pushed.length, script.length - 1)] ?? {};
        pushed.push({ headers: req.headers, body: JSON.parse(Buffer.concat(parts).toString()) });
        res.writeHead(status, retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }).end();
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      closers.push(async () => {
        server.closeAllConnections();
        await new Promise((resolve) => server.close(resolve));
      });
      return { endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}/tasks`, pushed };
    },
    async stop() {
      await Promise.all(closers.map((close) => close()));
    },
  };
}

/** Resolves with the first value that is found; rejects after the time. */
export async function until<T>(what: string, find: () => T | undefined | Promise<T | undefined>): Promise<T> {
  const endMs = Date.now() + 15_000;
  for (;;) {
    const found = await find();
    if (found !== undefined) return found;
    if (Date.now() > endMs) throw new Error(`Not within 15 s: ${what}.`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
