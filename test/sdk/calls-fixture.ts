/** A client over a scripted fetch and a fake clock, as the suites of the calls use it. */
import { type ClientOptions, createClient } from '../../sdk/index.ts';
import { createKitClock } from './kit-clock.ts';
import { createScriptedFetch, type Step } from './scripted-fetch.ts';

/** The secrets; a text that holds one holds "canary". */
export const AUTH = 'canary-secret-1';
export const ADMIN = 'canary-secret-2';

/** Creates the client; each request takes the next step. */
export function connect(steps: readonly Step[], options: Partial<ClientOptions> = {}) {
  const clock = createKitClock();
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
/** What the platform's fetch throws when nobody listens. */
export const refused = () =>
  Object.assign(new TypeError('fetch failed'), {
    cause: Object.assign(new Error(), { code: 'ECONNREFUSED' }),
  });
