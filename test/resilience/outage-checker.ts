/**
 * Makes the calls of the load and checks each response against what is promised of an outage of the store: it
 * comes in time, and is either the truth or a 503 that says when to retry. Everything else is kept as broken.
 */
import type { Answer } from '../e2e/plain-calls.ts';
import { MACHINE_SLACK_MS } from '../harness/slack.ts';

/** The calls the load makes. */
export type Calls = {
  post(url: string, path: string, body: unknown): Promise<Answer>;
};

export type OutageChecker = Calls & {
  /** What broke the promise, in words. */
  readonly broken: readonly string[];
  count(): { readonly answered: number; readonly unavailable: number; readonly longestMs: number };
  /** Starts counting from zero. */
  reset(): void;
};

/** A 503 leaves within 5 s. */
const RESPOND_WITHIN_MS = 5_000;

/** Creates it. A call whose connection breaks throws, as fetch does: nothing is promised of it. */
export function createOutageChecker(): OutageChecker {
  const broken: string[] = [];
  let answered = 0;
  let unavailable = 0;
  let longestMs = 0;

  function check(call: string, { status, body }: Answer, retryAfter: string | null, tookMs: number): void {
    longestMs = Math.max(longestMs, tookMs);
    if (status === 503) unavailable += 1;
    else answered += 1;
    if (tookMs > RESPOND_WITHIN_MS + MACHINE_SLACK_MS) broken.push(`${call} took ${Math.round(tookMs)} ms`);
    if (status === 503 && !/^\d+$/.test(retryAfter ?? '')) broken.push(`${call}: a 503 without Retry-After`);
    if (status === 503 && body.code !== 'store_unavailable') broken.push(`${call}: ${JSON.stringify(body)}`);
    if (status >= 500 && status !== 503) broken.push(`${call}: ${status} ${JSON.stringify(body)}`);
    if (status === 404) broken.push(`${call}: a false 404`);
  }

  async function post(url: string, path: string, body: unknown): Promise<Answer> {
    const startMs = performance.now();
    const response = await fetch(`${url}${path}`, { method: 'POST', body: JSON.stringify(body) });
    const text = await response.text();
    const answer = {
      status: response.status,
      body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>),
    };
    const name = `POST ${path.replace(/\?.*/, '')}`;
    check(name, answer, response.headers.get('Retry-After'), performance.now() - startMs);
    return answer;
  }

  return {
    broken,
    post,
    count: () => ({ answered, unavailable, longestMs }),
    reset() {
      answered = 0;
      unavailable = 0;
      longestMs = 0;
    },
  };
}
