/** Documents, readiness and errors of the gateway. Heads, HEAD, OPTIONS and CORS are in `heads.test.ts`. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { GatewayError } from '../../server/ports/gateway.ts';
import { StoreUnavailable } from '../../server/ports/store.ts';
import { createDocumentCheck } from '../contract/document-check.ts';
import { buildCall } from '../contract/usual-calls.ts';
import { ADMIN_SECRET, SECRET, startTestServer, type TestServer } from '../harness/http-server.ts';
import { sendChecked } from './checked-call.ts';
import { createFakeGateway } from './fake-gateway.ts';

const secrets = { gateway: SECRET, admin: ADMIN_SECRET };
const gateway = createFakeGateway();
let server: TestServer;
beforeAll(async () => {
  server = await startTestServer(gateway);
});
afterAll(() => server.stop());

/** A document in one line, without its code samples. */
function withoutSamples(text: string): string {
  const omit = (key: string, value: unknown) => (key === 'x-codeSamples' ? undefined : value);
  return JSON.stringify(JSON.parse(text), omit);
}

describe('pages', () => {
  const pages = [
    ['/openapi.json', 'openapi.json', 'application/json'],
    ['/openapi.yaml', 'openapi.yaml', 'application/yaml; charset=utf-8'],
    ['/openapi.3.2.json', 'openapi.3.2.json', 'application/json'],
    ['/openapi.admin.json', 'openapi.admin.json', 'application/json'],
    ['/openapi.agent.json', 'openapi.agent.json', 'application/json'],
  ] as const;

  test.each(pages)('%s is the published document, open to every web page', async (path, file, type) => {
    const response = await fetch(server.url + path, { headers: { origin: 'https://anywhere.example' } });
    const published = readFileSync(
      fileURLToPath(import.meta.resolve(`@task-gateway/contract/${file}`)),
      'utf8',
    );
    const text = await response.text();
    expect(text).toBe(type === 'application/json' ? withoutSamples(published) : published);
    expect([response.headers.get('content-encoding'), response.headers.get('vary')]).toEqual([
      'gzip',
      'Origin, Accept-Encoding',
    ]);
    expect(response.headers.get('content-type')).toBe(type);
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
    expect(response.headers.get('cache-control')).toBe('no-cache');
    const etag = response.headers.get('etag') ?? '';
    const again = await fetch(server.url + path, { headers: { 'if-none-match': `W/"other", ${etag}` } });
    expect([again.status, await again.text(), again.headers.get('etag')]).toEqual([304, '', etag]);
    const plain = await fetch(server.url + path, { headers: { 'accept-encoding': 'identity' } });
    expect([await plain.text(), plain.headers.get('content-encoding')]).toEqual([text, null]);
    expect(plain.headers.get('etag')).not.toBe(etag);
  });

  test.each(['openapi.3.2.json', 'openapi.admin.json'])('/docs/%s has the code samples', async (file) => {
    const text = await (await fetch(`${server.url}/docs/${file}`)).text();
    expect(text).toContain('x-codeSamples');
    expect(await (await fetch(`${server.url}/${file}`)).text()).toBe(withoutSamples(text));
  });

  test('readiness gives the kind of an outage and nothing of its message; liveness stays 200', async () => {
    const outage = new StoreUnavailable('The disk fails: /full/damaged', { kind: 'takes_no_writes' });
    const unhealthy = await startTestServer(createFakeGateway({ health: () => ({ ok: false, outage }) }));
    const ready = await fetch(`${unhealthy.url}/readyz`);
    expect([ready.status, await ready.json()]).toEqual([
      503,
      { status: 'unavailable', reason: 'The store takes no writes.' },
    ]);
    expect(ready.headers.get('Retry-After')).toBe('2');
    expect((await fetch(`${unhealthy.url}/livez`)).status).toBe(200);
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
    await unhealthy.stop();
  });

  test('probes and metrics are as the administrator’s document has them', async () => {
    const { findDeviations } = createDocumentCheck(
      JSON.parse(await (await fetch(`${server.url}/openapi.admin.json`)).text()),
    );
    const outage = new StoreUnavailable('The disk fails', { kind: 'disk_fails' });
    const states = [{ ok: false, outage }, { ok: true }, { ok: true, warning: 'a clock is wrong' }] as const;
    const [statuses, texts]: [number[], string[]] = [[], []];
    for (const state of states) {
      const probed = await startTestServer(createFakeGateway({ health: () => state }));
      for (const path of ['/livez', '/readyz', '/metrics'])
        for (const secret of ['', ADMIN_SECRET]) {
          const response = await fetch(probed.url + path, { headers: { authorization: `Bearer ${secret}` } });
          const { status, headers } = response;
          statuses.push(status);
          const received = { method: 'GET', path, status, headers, text: await response.text() };
          texts.push(received.text);
          expect(findDeviations(received)).toEqual([]);
        }
      await probed.stop();
    }
    expect(statuses.slice(0, 6)).toEqual([200, 200, 503, 503, 401, 200]);
    // A warning leaves it ready, because calls succeed.
    expect([statuses[14], texts[14]]).toEqual([200, '{"status":"ok","warning":"a clock is wrong"}']);
  });
});

describe('errors that the gateway throws', () => {
  test.each([
    [new GatewayError('task_not_found', 'No such task.'), 404, 'task_not_found', null],
    [new GatewayError('busy', 'Too many tasks.'), 503, 'busy', '5'],
    [new StoreUnavailable('down'), 503, 'store_unavailable', '2'],
    [new Error('secret cause'), 500, 'internal', null],
    ['a thrown text', 500, 'internal', null],
    [undefined, 500, 'internal', null],
  ])('%s becomes the documented problem', async (thrown, status, code, retryAfter) => {
    const failing = await startTestServer(createFakeGateway({ cancelTask: () => Promise.reject(thrown) }));
    const response = await sendChecked(failing.url, buildCall('cancelTask', secrets));
    expect([response.status, response.json.code, response.headers.get('retry-after')]).toEqual([
      status,
      code,
      retryAfter,
    ]);
    expect(response.json.type).toBe(`urn:task-gateway:problem:${code}`);
    expect(response.text).not.toContain('secret cause');
    const logged = failing.logged.filter(({ level }) => level === 'error');
    expect(logged.length).toBe(status === 500 ? 1 : 0);
    // The log has the cause under the reference that the caller received.
    if (status === 500)
      expect(logged[0]?.fields).toMatchObject({
        operation: 'cancelTask',
        detail: response.json.detail,
        error: thrown,
      });
    await failing.stop();
  });

  test('a cursor that no page had is named, together with everything else that is wrong', async () => {
    const gateway = createFakeGateway();
    const server = await startTestServer(gateway);
    const ask = async (query: string): Promise<unknown> => {
      const path = `/api/admin/tasks?${query}`;
      return (await sendChecked(server.url, { ...buildCall('listTasks', secrets), path })).json.errors;
    };
    expect(await ask('cursor=x')).toEqual([
      { pointer: '/cursor', detail: 'must be the `next_cursor` of the previous page' },
    ]);
    expect(await ask('limit=0&cursor=x&status=none')).toMatchObject([
      { pointer: '/status/0' },
      { pointer: '/limit' },
      { pointer: '/cursor' },
    ]);
    expect(gateway.calls).toEqual([]);
    await server.stop();
  });

  test('a refusal of the gateway names the field that it is about', async () => {
    const refusal = new GatewayError('validation_failed', 'must be another agent', '/agent_id');
    const failing = await startTestServer(createFakeGateway({ claimTask: () => Promise.reject(refusal) }));
    const response = await sendChecked(failing.url, buildCall('claimTask', secrets));
    expect(response.json).toMatchObject({
      status: 422,
      errors: [{ pointer: '/agent_id', detail: 'must be another agent' }],
    });
    await failing.stop();
  });
});
