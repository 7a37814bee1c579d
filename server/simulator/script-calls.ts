/**
 * Makes the calls of scripted agents, and of the people who answer them, over the API. A call is made once,
 * or repeated until there is a response, as agents must do for output.
 */
import type { Clock } from '../ports/clock.ts';
import type { AnswerRequest } from './answer-requests.ts';

type Body = Readonly<Record<string, unknown>>;
type Heard = { readonly status: number; readonly body: Body };

/**
 * Makes a call with this body and the secret. Resolves with the status and the body of the response. Rejects
 * if there is no response, or when the signal fires.
 */
export type CallApi = (path: string, body: Body, signal?: AbortSignal) => Promise<Heard>;

export function createCallApi(auth: string, answer: AnswerRequest): CallApi {
  const never = new AbortController().signal;
  return async (path, body, signal = never) => {
    const isAgents = path.startsWith('/api/agent/');
    const request = new Request(`http://gateway.test${path}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(!isAgents && { authorization: `Bearer ${auth}` }),
      },
      body: JSON.stringify(isAgents ? Object.assign({ auth }, body) : body),
    });
    const response = await answer(request, path, signal);
    const text = await response.text();
    return { status: response.status, body: text === '' ? {} : JSON.parse(text) };
  };
}

/** Makes a call once. If a fault takes the response away, the status is 0. */
export function callOnce(call: CallApi, ...made: Parameters<CallApi>): Promise<Heard> {
  return call(...made).catch(() => ({ status: 0, body: {} }));
}

/** The pause before a call is repeated. */
const AGAIN_MS = 1_000;

/**
 * Makes a call until a response comes that is not from a fault or an outage. Resolves with undefined when the
 * signal fires.
 */
export async function callUntilHeard(
  { call, clock }: { readonly call: CallApi; readonly clock: Clock },
  path: string,
  body: Body,
  signal: AbortSignal,
): Promise<Heard | undefined> {
  while (!signal.aborted) {
    const heard = await callOnce(call, path, body, signal);
    if (![0, 401, 429].includes(heard.status) && heard.status < 500) return heard;
    await clock.sleep(AGAIN_MS, signal);
  }
  return undefined;
}
