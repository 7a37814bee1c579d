/**
 * Makes calls in the load's stead and holds each answer to what is promised of an outage of the store: in time, and
 * either an answer or a 503 that says when to come again; anything else is noted as broken.
 */
import type { Answer } from '../e2e/plain-calls.ts';
import { SECRET } from '../harness/gateway-process.ts';

/** The calls the load makes. */
export type Calls = {
  post(url: string, path: string, body: unknown): Promise<Answer>;
};

export type Witness = Calls & {
  get(url: string, path: string): Promise<Answer>;
  /** What went against the promise, in words. */
  readonly broken: readonly string[];
  count(): { readonly answered: number; readonly unavailable: number; readonly longestMs: number };
  /** Starts counting anew. */
  reset(): void;
};

/** A 503 leaves within 5 s; so much more is the machine's. */
const ANSWER_WITHIN_MS = 5_000;
const SLACK_MS = 1_000;

/** Creates it; a call whose connection breaks throws, as fetch does, and is promised nothing. */
export function createWitness(): Witness {
  const broken: string[] = [];
  let answered = 0;
  let unavailable = 0;
  let longestMs = 0;

  function judge(call: string, { status, body }: Answer, retryAfter: string | null, tookMs: number): void {
    longestMs = Math.max(longestMs, tookMs);
    if (status === 503) unavailable += 1;
    else answered += 1;
    if (tookMs > ANSWER_WITHIN_MS + SLACK_MS) broken.push(`${call} took ${Math.round(tookMs)} ms`);
    if (status === 503 && !/^\d+$/.test(retryAfter ?? '')) broken.push(`${call}: a 503 without Retry-After`);
    if (status === 503 && body.code !== 'store_unavailable') broken.push(`${call}: ${JSON.stringify(body)}`);
    if (status >= 500 && status !== 503) broken.push(`${call}: ${status} ${JSON.stringify(body)}`);
    if (status === 404) broken.push(`${call}: a false 404`);
  }

  async function call(url: string, path: string, init: RequestInit): Promise<Answer> {
    const startMs = performance.now();
    const answer = await fetch(`${url}${path}`, init);
    const text = await answer.text();
    const read = {
      status: answer.status,
      body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>),
    };
    const name = `${init.method ?? 'GET'} ${path.replace(/\?.*/, '')}`;
    judge(name, read, answer.headers.get('Retry-After'), performance.now() - startMs);
    return read;
  }

  return {
    broken,
    post: (url, path, body) => call(url, path, { method: 'POST', body: JSON.stringify(body) }),
    get: (url, path) => call(url, path, { headers: { Authorization: `Bearer ${SECRET}` } }),
    count: () => ({ answered, unavailable, longestMs }),
    reset() {
      answered = 0;
      unavailable = 0;
      longestMs = 0;
    },
  };
}
