/**
 * A `fetch` with scripted responses that records its requests. Without a network, a fake clock controls all
 * timing.
 */
import type { Fetch } from '../../sdk/index.ts';

/** A request that was sent. */
export type Sent = {
  readonly method: string;
  readonly url: URL;
  readonly headers: Headers;
  readonly text: string;
  readonly body: Record<string, unknown> | undefined;
};

/** A response, an error to throw, or `never` for no response until the signal fires. */
export type Step = Response | Error | 'never' | ((sent: Sent) => Response | Promise<Response>);

export type ScriptedFetch = Fetch & { readonly sent: readonly Sent[] };

/** Creates a `fetch` that takes the steps one by one. The last one is used for all further requests. */
export function createScriptedFetch(...steps: readonly Step[]): ScriptedFetch {
  const sent: Sent[] = [];
  const fetch: Fetch = async (request, init) => {
    const text = await request.text();
    const one: Sent = {
      method: request.method,
      url: new URL(request.url),
      headers: request.headers,
      text,
      body: text === '' ? undefined : JSON.parse(text),
    };
    sent.push(one);
    const step = steps[Math.min(sent.length, steps.length) - 1];
    if (step instanceof Error) throw step;
    if (step instanceof Response) return step.clone();
    const aborted = new Promise<never>((_resolve, reject) => {
      init?.signal?.addEventListener('abort', () => reject(init.signal?.reason));
    });
    if (typeof step !== 'function') return await aborted;
    aborted.catch(() => undefined);
    return await Promise.race([aborted, step(one)]);
  };
  return Object.assign(fetch, { sent });
}

/** Creates a JSON response. */
export function json(body: unknown, status = 200, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: { 'content-type': 'application/json', ...headers },
  });
}

/** Creates a task as the gateway returns it. */
export function someTask(
  fields: Record<string, unknown> = {},
): Record<string, unknown> & { request_id: string } {
  return {
    request_id: 'task-1',
    task_type: '翻译',
    task_tags: ['zh'],
    payload: {},
    status: 'pending',
    agent_id: null,
    cli_session_id: 's',
    create_time: 1_763_632_111.25,
    timeout: 600,
    progress: 0,
    result: null,
    error_info: null,
    ...fields,
  };
}
