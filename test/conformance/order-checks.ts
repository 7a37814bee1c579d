/** The checks of the guide's section "Order of checks" (L1). */
import { foreignOrigin } from './browser-checks.ts';
import type { Check } from './check.ts';
import { isFields, NotScored, requireEqual, requireThat } from './findings.ts';
import type { Kit } from './kit.ts';
import { asked } from './played-questions.ts';
import * as scenario from './played-scenarios.ts';
import { type Answer, requireObject, requireProblem, requireStatus } from './subject.ts';

const SUBMIT = '/api/cli/tasks';

function submission(kit: Kit) {
  return { auth: kit.auth, task_type: 'x', task_tags: [] as unknown, payload: {} as unknown };
}

const post = (kit: Kit, json: unknown, query: Readonly<Record<string, string>> = {}): Promise<Answer> =>
  kit.subject.call('POST', SUBMIT, { json, query });

/** Returns the pointers of a 422's errors. */
function pointersOf(answer: Answer, when: string): readonly unknown[] {
  requireProblem(answer, 422, 'validation_failed', when);
  const errors = isFields(answer.json) && Array.isArray(answer.json.errors) ? answer.json.errors : [];
  return errors.map((error) => (isFields(error) ? error.pointer : undefined)).toSorted();
}

export const ORDER_CHECKS: Readonly<Record<string, Check>> = {
  'order.the-first-that-fails': async (kit) => {
    const { call } = kit.subject;
    const wrong = { query: { auth: kit.name('secret') } };
    const bad = { ...wrong, body: '{' };
    requireProblem(await call('POST', '/api/nothing', bad), 404, 'route_not_found', 'before the secret');
    requireProblem(await call('PUT', SUBMIT, bad), 405, 'method_not_allowed', 'before the secret');
    requireProblem(await call('POST', SUBMIT, bad), 401, 'unauthorized', 'before the body');
    const late = { status: 1, auth: kit.name('secret') };
    requireProblem(
      await call('POST', '/api/agent/result', { json: late }),
      401,
      'unauthorized',
      'before `agent_id`',
    );
    const nameless = { json: { status: 1 }, query: { auth: kit.auth } };
    requireProblem(
      await call('POST', '/api/agent/result', nameless),
      400,
      'agent_id_missing',
      'before the schemas',
    );
  },
  'order.bytes-that-are-no': async (kit) => {
    // Of the three requests only this one can be sent by a program for HTTP.
    const headers = { 'x-long': 'x'.repeat(20_000) };
    requireProblem(
      await kit.subject.call('GET', '/livez', { headers }),
      431,
      'headers_too_large',
      'of 20 kB',
    );
  },
  'order.the-documents-livez-and': async (kit) => {
    for (const path of ['/openapi.json', '/', '/livez', '/readyz']) {
      const answer = await kit.subject.call('GET', path, { headers: { origin: 'http://foreign.test' } });
      requireThat(
        /"(openapi|name|status)":/.test(JSON.stringify(requireObject(answer))),
        `${path} is something else.`,
      );
    }
  },
  'order.the-path-404-route': async (kit) => {
    requireProblem(
      await kit.subject.call('GET', `/${kit.name('path')}`),
      404,
      'route_not_found',
      'of no path',
    );
    const answer = await kit.subject.call('DELETE', SUBMIT);
    requireProblem(answer, 405, 'method_not_allowed', 'of a submission');
    requireThat(/\bPOST\b/.test(answer.headers.get('allow') ?? ''), '`Allow` lacks POST.');
  },
  'order.the-secret-in-query': async (kit) => {
    const path = `${SUBMIT}/${kit.name('unknown')}`;
    const query = { auth: kit.name('secret') };
    requireProblem(
      await kit.subject.call('GET', path, { query }),
      401,
      'unauthorized',
      'with a wrong secret',
    );
    const headers = { authorization: `Bearer ${query.auth}` };
    requireProblem(
      await kit.subject.call('GET', path, { headers }),
      401,
      'unauthorized',
      'with a wrong Bearer',
    );
  },
  'order.the-body-413-payload': async (kit) => {
    const large = await post(kit, { ...submission(kit), payload: { text: 'x'.repeat(2 ** 20) } });
    requireProblem(large, 413, 'payload_too_large', 'of more than 1 MiB');
    const coded = { body: '{}', headers: { 'content-encoding': 'gzip' } };
    const answer = await kit.subject.call('POST', SUBMIT, coded);
    requireProblem(answer, 415, 'unsupported_media_type', 'of a coded body');
    requireProblem(
      await kit.subject.call('POST', SUBMIT, { body: '{' }),
      400,
      'malformed_body',
      'of a cut body',
    );
  },
  'order.the-secret-in-the': async (kit) => {
    const json = { ...submission(kit), auth: kit.name('secret'), task_tags: 1 };
    requireProblem(await post(kit, json), 401, 'unauthorized', 'before the schemas');
    const pointers = pointersOf(await post(kit, { ...json, auth: 1 }), 'with a secret that is no text');
    requireThat(pointers.includes('/auth'), 'The errors lack /auth.');
  },
  'order.where-none-is-needed': async (kit) => {
    const page = { json: { agent_id: kit.name('agent') }, headers: { origin: foreignOrigin(kit) } };
    const answer = await kit.subject.call('POST', '/api/agent/heartbeat', page);
    if (answer.status === 401) throw new NotScored('This gateway requires the secret of agents.');
    requireProblem(answer, 403, 'origin_not_allowed', 'of a foreign page, without a secret');
  },
  'order.a-heartbeat-report-claim': async (kit) => {
    for (const path of ['heartbeat', 'result', 'claim', 'answer', 'output', 'unregister']) {
      const answer = await kit.subject.call('POST', `/api/agent/${path}`, { json: { auth: kit.auth } });
      requireProblem(answer, 400, 'agent_id_missing', 'without `agent_id`');
    }
  },
  'order.a-body-that-is': async (kit) => {
    for (const path of ['heartbeat', 'result', 'claim', 'answer', 'output', 'unregister'])
      pointersOf(
        await kit.subject.call('POST', `/api/agent/${path}`, { json: [], query: { auth: kit.auth } }),
        'of a list',
      );
  },
  'order.the-first-exceeded-limit': async (kit) => {
    let deep: unknown = [];
    for (let level = 0; level < 100; level += 1) deep = [deep];
    const limited = pointersOf(
      await post(kit, { ...submission(kit), task_tags: 1, payload: { deep } }),
      'of 100 levels',
    );
    requireThat(
      limited.length === 1 && String(limited[0]).startsWith('/payload'),
      `The errors are at ${limited}.`,
    );
    const wrong = { ...submission(kit), task_tags: 1, payload: 1 };
    requireEqual(
      pointersOf(await post(kit, wrong), 'with two faults'),
      ['/payload', '/task_tags'],
      'The pointers',
    );
  },
  'order.the-state-404-400': async (kit) => {
    const unknown = await kit.cancel(kit.name('unknown'));
    requireProblem(unknown, 404, 'task_not_found', 'of an unknown task');
    const { second } = await kit.see(scenario.cancelled);
    requireProblem(second, 400, 'task_terminal', 'of a task that has ended');
    const headers = { 'idempotency-key': kit.name('key') };
    const first = await kit.subject.call('POST', SUBMIT, { json: submission(kit), headers });
    const same = await kit.subject.call('POST', SUBMIT, { json: submission(kit), headers });
    requireEqual(requireObject(same).request_id, requireObject(first).request_id, 'The task of the same key');
    const other = await kit.subject.call('POST', SUBMIT, {
      json: { ...submission(kit), task_type: 'y' },
      headers,
    });
    requireProblem(other, 422, 'idempotency_conflict', 'of other content');
  },
  'order.nothing-is-coerced-60': async (kit) => {
    const json = { ...submission(kit), timeout: '60', payload: null };
    requireEqual(
      pointersOf(await post(kit, json), 'with "60" and null'),
      ['/payload', '/timeout'],
      'The pointers',
    );
    requireObject(await post(kit, submission(kit)));
  },
  'order.in-the-query-a': async (kit) => {
    const { fresh } = await kit.see(scenario.unmatched);
    const path = `${SUBMIT}/${fresh.request_id}`;
    const { auth } = kit;
    requireObject(await kit.subject.call('GET', path, { query: { auth, wait: '0.5e0' } }));
    for (const wait of ['', ' 1', '0x1', '.5', '1s']) {
      const answer = await kit.subject.call('GET', path, { query: { auth, wait } });
      requireStatus(answer, 422, `with \`wait\` "${wait}"`);
    }
    const twice = (name: string) => kit.subject.call('GET', `${path}?${name}`, {});
    requireStatus(await twice(`auth=${encodeURIComponent(auth)}&wait=1&wait=1`), 422, 'with `wait` twice');
    const secret = `auth=${encodeURIComponent(auth)}`;
    requireStatus(await twice(`${secret}&${secret}`), 401, 'with `auth` twice');
  },
  'order.unknown-fields-and-parameters': async (kit) => {
    const answer = await post(
      kit,
      { ...submission(kit), no_such_field: 1 },
      { auth: kit.auth, no_such_parameter: '1' },
    );
    requireThat(
      typeof requireObject(answer).request_id === 'string',
      'A task with an unknown field must be taken.',
    );
    const { unknownKeyword } = await kit.see(asked);
    requireProblem(unknownKeyword, 422, 'validation_failed', 'with an unknown keyword in a schema');
    if (kit.adminAuth === undefined) return;
    const misspelt = await kit.subject.call('POST', '/api/admin/tasks/cancel', {
      json: { filter: { tpye: kit.name('type') }, created_before: 1 },
      headers: { 'x-admin-auth': kit.adminAuth },
    });
    requireProblem(misspelt, 422, 'validation_failed', 'with a misspelt filter');
  },
};
