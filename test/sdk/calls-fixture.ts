/** A client with a scripted `fetch` and a fake clock, for the tests of the calls. */
import { type ClientOptions, createClient } from '../../sdk/index.ts';
import { createScriptedFetch, type Step } from './scripted-fetch.ts';
import { createSdkClock } from './sdk-clock.ts';

/** The secrets. A text that contains one contains "canary". */
export const AUTH = 'canary-secret-1';
export const ADMIN = 'canary-secret-2';

/** Creates the client. Each request takes the next step. */
export function connect(steps: readonly Step[], options: Partial<ClientOptions> = {}) {
  const clock = createSdkClock();
  const fetch = createScriptedFetch(...steps);
  const client = createClient({
    baseUrl: 'http://gateway.test/',
    auth: AUTH,
    adminAuth: ADMIN,
    fetch,
    clock,
    ...options,
  });
  return { client, clock, fetch, sent: fetch.sent };
}

/** The smallest submission. */
export const submission = { task_type: '翻译', task_tags: ['zh'], payload: { text: '你好' } };
/** Creates what the platform's `fetch` throws when no server listens. */
export const connectionRefused = () =>
  Object.assign(new TypeError('fetch failed'), {
    cause: Object.assign(new Error(), { code: 'ECONNREFUSED' }),
  });
