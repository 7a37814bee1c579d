/** The checks of the guide's section "Browsers" (L1). */
import type { Check } from './check.ts';
import { NotScored, requireEqual, requireThat } from './findings.ts';
import type { Kit } from './kit.ts';
import * as scenario from './played-scenarios.ts';
import { type Answer, requireObject, requireProblem, requireStatus } from './subject.ts';

const SUBMIT = '/api/cli/tasks';
const DEFAULT_SECRET = 'task-gateway-default-secret';
const EXPOSED = ['Task-Gateway-Version', 'Retry-After', 'ETag', 'Task-Outcome'];
const ALLOWED =
  'Authorization, Content-Type, Idempotency-Key, Last-Event-ID, X-Admin-Auth, If-None-Match, traceparent, tracestate';

/** Returns an origin that no operator allows. */
export function foreignOrigin({ origin, prefix }: Kit): string {
  if (origin === '*') throw new NotScored('The gateway allows the pages of every origin.');
  return `https://${prefix}.test`;
}

function allowedOrigin({ origin }: Kit): string {
  if (origin === undefined) throw new NotScored('No origin was given that the gateway allows (--origin).');
  return origin;
}

/** Returns the words of a header that is a list, in small letters. */
function wordsOf(answer: Answer, name: string): readonly string[] {
  const text = answer.headers.get(name)?.toLowerCase() ?? '';
  return text.split(',').map((word) => word.trim());
}

function requireWords(answer: Answer, name: string, words: readonly string[]): void {
  const missing = words.filter((word) => !wordsOf(answer, name).includes(word.toLowerCase()));
  requireThat(missing.length === 0, `${answer.call}: ${name} lacks ${missing.join(', ')}.`);
}

const preflight = (kit: Kit, path: string, origin: string): Promise<Answer> =>
  kit.subject.call('OPTIONS', path, { headers: { origin, 'access-control-request-method': 'POST' } });

export const BROWSER_CHECKS: Readonly<Record<string, Check>> = {
  'browsers.unless-the-gateway-s': async (kit) => {
    const origin = foreignOrigin(kit);
    const submitted = await kit.submit([kit.name('nowhere')], {}, { origin });
    if (kit.auth === DEFAULT_SECRET)
      requireProblem(submitted, 403, 'origin_not_allowed', 'of a foreign page, with the default secret');
    else requireThat('request_id' in requireObject(submitted), 'It is served, and must be a task.');
    const unknown = await kit.subject.call('GET', `${SUBMIT}/${kit.name('unknown')}`, {
      headers: { origin },
    });
    for (const answer of [submitted, unknown, await preflight(kit, SUBMIT, origin)]) {
      const names = [...answer.headers.keys()].filter((name) => name.startsWith('access-control-'));
      requireEqual(names, [], `${answer.call}: CORS headers for a foreign page`);
    }
  },
  'browsers.to-an-allowed-origin': async (kit) => {
    const origin = allowedOrigin(kit);
    const { fresh } = await kit.see(scenario.unmatched);
    const path = `${SUBMIT}/${fresh.request_id}`;
    const answer = await kit.subject.call('GET', path, { query: { auth: kit.auth }, headers: { origin } });
    requireObject(answer);
    const asked = [
      [await preflight(kit, SUBMIT, origin), 'POST'],
      [await preflight(kit, path, origin), 'GET'],
    ] as const;
    for (const [options, method] of asked) {
      requireStatus(options, 204, 'of a preflight');
      requireWords(options, 'access-control-allow-methods', [method]);
      requireWords(options, 'access-control-allow-headers', ALLOWED.split(', '));
    }
    const problem = await kit.subject.call('GET', path, { headers: { origin } });
    for (const one of [answer, problem, ...asked.map(([options]) => options)]) {
      const allowed = one.headers.get('access-control-allow-origin');
      requireThat(allowed === origin || allowed === '*', `${one.call}: the origin allowed is ${allowed}.`);
    }
    for (const one of [answer, problem]) requireWords(one, 'access-control-expose-headers', EXPOSED);
  },
  'browsers.a-page-must-declare': async (kit) => {
    const origin = kit.origin ?? foreignOrigin(kit);
    if (kit.origin === undefined && kit.auth === DEFAULT_SECRET)
      throw new NotScored('With the default secret it shows to an allowed page alone (--origin).');
    for (const type of ['text/plain', 'application/x-www-form-urlencoded']) {
      const answer = await kit.submit([], {}, { origin, 'content-type': type });
      requireProblem(answer, 415, 'unsupported_media_type', `of a page that declares ${type}`);
    }
    const declared = { origin, 'content-type': 'application/json; charset=utf-8' };
    requireObject(await kit.submit([], {}, declared));
  },
  'browsers.credentials-cookies-are-not': async (kit) => {
    const { fresh } = await kit.see(scenario.unmatched);
    const headers = {
      origin: kit.origin ?? foreignOrigin(kit),
      cookie: `auth=${encodeURIComponent(kit.auth)}`,
    };
    const path = `${SUBMIT}/${fresh.request_id}`;
    const refused = await kit.subject.call('GET', path, { headers });
    requireThat(refused.status === 401 || refused.status === 403, `With a cookie: ${refused.status}.`);
    const options = await preflight(kit, path, headers.origin);
    const served = await kit.subject.call('GET', path, { headers, query: { auth: kit.auth } });
    for (const answer of [refused, options, served])
      for (const name of ['access-control-allow-credentials', 'set-cookie'])
        requireEqual(answer.headers.get(name), null, `${answer.call}: \`${name}\``);
  },
  'browsers.eventsource-can-t-send': async (kit) => {
    const query = { cli_session_id: kit.name('session'), auth: kit.auth };
    const stream = await kit.subject.openStream(query, { accept: 'text/event-stream' });
    stream.close();
    requireEqual(stream.status, 200, 'The status of a stream with the secret in the query alone');
    const type = stream.headers.get('content-type') ?? '';
    requireThat(type.startsWith('text/event-stream'), `The stream is sent as "${type}".`);
  },
  'fields.there-is-no-event': async (kit) => {
    const { stream } = await kit.see(scenario.succeeded);
    requireThat(stream.events.length > 0, 'There is no event.');
    for (const { type } of stream.events) requireEqual(type, 'message', 'The type of a `task_done`');
  },
};
