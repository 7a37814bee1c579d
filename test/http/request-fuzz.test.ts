/**
 * Random requests: no 5xx, no undocumented response, and the gateway receives only what the document allows.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildCall, OPERATIONS } from '../contract/usual-calls.ts';
import { ADMIN_SECRET, SECRET, startTestServer, type TestServer } from '../harness/http-server.ts';
import { sendChecked } from './checked-call.ts';
import { createFakeGateway } from './fake-gateway.ts';
import { exchange } from './raw-connection.ts';

const secrets = { gateway: SECRET, admin: ADMIN_SECRET };
const RUNS = Number(process.env.PROPERTY_RUNS ?? 400);
const gateway = createFakeGateway();
let server: TestServer;
beforeAll(async () => {
  server = await startTestServer(gateway);
});
afterAll(() => server.stop());

const withBody = OPERATIONS.filter((one) => buildCall(one, secrets).body !== undefined);
const anyText = fc.oneof(fc.string({ unit: 'binary' }), fc.string());
const anyValue = fc.oneof(fc.jsonValue(), anyText, fc.constant(Number.MAX_VALUE), fc.constant('\ud800'));

describe('random requests', () => {
  test('any JSON in any field gets a documented response, never a 5xx', {
    timeout: 300_000,
  }, async () => {
    const field = fc.constantFrom(
      ...[
        'auth',
        'agent_id',
        'task_type',
        'task_tags',
        'payload',
        'timeout',
        'queue_timeout',
        'cli_session_id',
      ],
      ...[
        'endpoint',
        'agent_tags',
        'max_concurrent',
        'current_load',
        'request_ids',
        'lost_after',
        'draining',
        'wait',
      ],
      ...['request_id', 'status', 'progress', 'result', 'error_info', '__proto__', 'constructor', ''],
    );
    const fields = fc.dictionary(fc.oneof(field, field, anyText), anyValue, { maxKeys: 4 });
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...withBody), fields, async (operationId, more) => {
        const response = await sendChecked(server.url, buildCall(operationId, secrets, more));
        expect(response.status).toBeLessThan(500);
      }),
      { numRuns: RUNS },
    );
  });

  test('any bytes as a body get a documented response', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...withBody),
        fc.uint8Array({ maxLength: 200 }),
        async (operationId, bytes) => {
          const response = await sendChecked(server.url, {
            ...buildCall(operationId, secrets),
            body: new Uint8Array(bytes),
          });
          expect([400, 422]).toContain(response.status);
        },
      ),
      { numRuns: RUNS },
    );
  });

  test('any path and query get a status below 500', async () => {
    const part = fc.oneof(
      anyText.map((text) => encodeURIComponent(text.toWellFormed())),
      fc.constantFrom('%ff', '%', '..', '%2e%2e', '%00', '+', '&', '=', '?', 'auth', 'wait', 'limit', '//'),
    );
    const path = fc.constantFrom(
      '/',
      '/api/cli/tasks/',
      '/api/cli/events?',
      '/api/admin/tasks?',
      '/openapi.json?',
    );
    await fc.assert(
      fc.asyncProperty(path, fc.array(part, { maxLength: 5 }), async (start, parts) => {
        const target =
          start + parts.join('') + (start.includes('?') ? '' : `?auth=${encodeURIComponent(SECRET)}`);
        const head = `GET ${target} HTTP/1.1\r\nHost: a\r\nX-Admin-Auth: ${ADMIN_SECRET}\r\nConnection: close\r\n\r\n`;
        expect(await exchange(server.port, head)).toMatch(/^HTTP\/1\.1 [234]/);
      }),
      { numRuns: RUNS },
    );
  });

  test('any bytes on the wire end in a status below 500 or a closed connection', {
    timeout: 300_000,
  }, async () => {
    const text = fc.constantFrom(
      'GET ',
      'POST ',
      '/livez',
      ' HTTP/1.1',
      '\r\n',
      'Host: a',
      ': ',
      'Content-Length: 3',
      '\r\n\r\n',
      '\0',
    );
    const pieces = fc.array(
      fc.oneof(
        text.map((one) => Buffer.from(one)),
        fc.uint8Array({ maxLength: 30 }),
      ),
      { maxLength: 12 },
    );
    await fc.assert(
      fc.asyncProperty(pieces, async (parts) => {
        // The end of the input makes the server respond to an incomplete request, or close the connection.
        const bytes = Buffer.concat([...parts, Buffer.from('\r\n\r\n\0\r\n\r\n')]);
        expect(await exchange(server.port, bytes)).toMatch(/^(HTTP\/1\.1 [234]|$)/);
      }),
      { numRuns: RUNS },
    );
    expect((await sendChecked(server.url, buildCall('listAgents', secrets))).status).toBe(200);
    expect(server.logged.filter(({ level }) => level === 'error')).toEqual([]);
  });
});
