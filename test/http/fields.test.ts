/**
 * Every field of every body, wrong in every way that its published schema defines: always 422 with the right
 * pointer. Values just within the limits pass, and absent fields get their defaults.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildCall, type OperationId } from '../contract/usual-calls.ts';
import { ADMIN_SECRET, SECRET, startTestServer, type TestServer } from '../harness/http-server.ts';
import { pointersOf, sendChecked } from './checked-call.ts';
import { createFakeGateway } from './fake-gateway.ts';
import { bodies, breakSchema, putWrong, resolve, type Wrong } from './wrong-values.ts';

const gateway = createFakeGateway();
let server: TestServer;
beforeAll(async () => {
  server = await startTestServer(gateway);
});
afterAll(() => server.stop());

const secrets = { gateway: SECRET, admin: ADMIN_SECRET };

/**
 * The status and location of a refusal: 422, but 401 for a wrong secret, and 400 for an agent without its id.
 */
function expectAnswer(operationId: OperationId, { pointer, keyword, json = '' }: Wrong): string {
  if (pointer === '/auth' && json.startsWith('"')) return '401 ';
  const isAgentFirst = WITHOUT_AGENT_ID_400.includes(operationId);
  return isAgentFirst && keyword === 'required' && pointer === '/agent_id' ? '400 ' : `422 ${pointer}`;
}

/** Without an `agent_id` these get a 400 before the schema is looked at (§4.7). */
const WITHOUT_AGENT_ID_400 = [
  'claimTask',
  'heartbeatAgent',
  'reportResult',
  'unregisterAgent',
  'writeOutput',
  'claimAnswer',
];

/** The schema does not require it, because the administrator may leave it out. */
const isSecretOfMatch = (operationId: OperationId, field: string): boolean =>
  operationId === 'previewMatch' && field === 'auth';

/** Nor this, because `filter` may be there instead. */
const isSelection = (operationId: OperationId, field: string): boolean =>
  operationId === 'cancelTasks' && field === 'request_ids';

describe('every field of every body', () => {
  test.each(bodies)(
    '$operationId names the pointer of everything that is wrong',
    async ({ operationId, schema }) => {
      const call = buildCall(operationId, secrets);
      gateway.calls.length = 0;
      const wrongs = breakSchema(schema, '').filter(({ pointer }) => pointer !== '');
      expect(wrongs.length).toBeGreaterThan(5);
      for (const wrong of wrongs) {
        const body = putWrong(JSON.parse(String(call.body)), wrong);
        const response = await sendChecked(server.url, { ...call, body });
        const what = `${wrong.pointer} ${wrong.keyword} ${wrong.json?.slice(0, 40)}`;
        expect(`${response.status} ${pointersOf(response).join()}`, what).toBe(
          expectAnswer(operationId, wrong),
        );
      }
      expect(gateway.calls).toEqual([]);
    },
  );

  test.each(bodies)(
    '$operationId says what to send for each field that is missing',
    async ({ operationId, schema }) => {
      for (const field of Object.keys(schema.properties ?? {})) {
        if (field === 'filter') continue;
        const call = buildCall(operationId, secrets, { [field]: undefined });
        const response = await sendChecked(server.url, call);
        const isRequired =
          schema.required?.includes(field) ||
          isSecretOfMatch(operationId, field) ||
          isSelection(operationId, field);
        if (!isRequired) expect(response.status, field).toBeLessThan(300);
        else if (field === 'agent_id' && WITHOUT_AGENT_ID_400.includes(operationId)) {
          expect(response.json.code).toBe('agent_id_missing');
        } else {
          expect(response.json.errors).toEqual([
            {
              pointer: `/${field}`,
              detail: expect.stringMatching(
                /^is missing; send (an? .+|one of .+|true or false|any JSON value|the gateway secret.+)$/,
              ),
            },
          ]);
        }
      }
    },
  );

  test.each(bodies)('$operationId refuses a body that is not a JSON object', async ({ operationId }) => {
    for (const body of ['[]', 'null', '1', '"text"', 'true', '[{}]']) {
      const response = await sendChecked(server.url, { ...buildCall(operationId, secrets), body });
      expect(response.json.errors, body).toEqual([{ pointer: '', detail: 'must be a JSON object' }]);
    }
  });

  test('a preview without secret and tags names both', async () => {
    for (const [body, ...pointers] of [
      ['{}', '/auth', '/task_tags'],
      ['{"task_tags":"a"}', '/auth', '/task_tags'],
      ['{"task_tags":[]}', '/auth'],
    ] as const) {
      const response = await sendChecked(server.url, { ...buildCall('previewMatch', secrets), body });
      expect(pointersOf(response), body).toEqual(pointers);
    }
  });

  test('one response lists everything that is wrong, in words a person can act on', async () => {
    const body = '{"task_type":"","task_tags":["a",7],"timeout":0,"queue_timeout":-1,"payload":[]}';
    const response = await sendChecked(server.url, { ...buildCall('submitTask', secrets), body });
    expect(response.json.detail).toBe('6 fields are wrong; see `errors`.');
    expect(response.json.errors).toEqual([
      { pointer: '/auth', detail: 'is missing; send a text' },
      { pointer: '/task_type', detail: 'must be a text of 1 to 256 characters' },
      { pointer: '/task_tags/1', detail: 'must be a text of 1 to 256 characters' },
      { pointer: '/payload', detail: 'must be a JSON object' },
      { pointer: '/timeout', detail: 'must be a number above 0' },
      { pointer: '/queue_timeout', detail: 'must be a number, 0 or more' },
    ]);
  });

  test('values just within their limits pass, counted in characters, and unknown fields are ignored', async () => {
    const name = '😀'.repeat(256);
    const cases: readonly (readonly [OperationId, object])[] = [
      [
        'submitTask',
        { task_type: name, task_tags: Array(64).fill(name), cli_session_id: name, timeout: 1e-9 },
      ],
      [
        'submitTask',
        { task_tags: [], cli_session_id: '', timeout: 1e300, queue_timeout: 0, unknown: { a: 1 } },
      ],
      ['submitTask', { payload: { half: '\ud800', ['__proto__']: { admin: true }, '': null } }],
      ['registerAgent', { agent_id: name, max_concurrent: 1_000_000, current_load: 0, lost_after: 3 }],
      ['registerAgent', { max_concurrent: 0, request_ids: Array(1_000).fill('r'), agent_tags: [] }],
      ['claimTask', { wait: 61 }],
      ['claimTask', { wait: 0, request_ids: [] }],
      ['reportResult', { progress: 0, status: 'running', result: null, error_info: null }],
      [
        'writeOutput',
        { writer: '写'.repeat(64), from: 2_147_483_647, pieces: Array(100).fill({ data: null }) },
      ],
      ['writeOutput', { pieces: [{ text: '\ud800', unknown: 1 }, { data: { text: '' } }] }],
      ['reportResult', { progress: 100.0, status: 'failed', error_info: '', result: { more: [1] } }],
    ];
    for (const [operationId, body] of cases) {
      const response = await sendChecked(server.url, buildCall(operationId, secrets, { ...body }));
      expect(response.status, `${operationId} ${JSON.stringify(body).slice(0, 80)}`).toBeLessThan(300);
    }
  });
});

describe('rules that a schema can’t express', () => {
  test('are named together with everything else that is wrong', async () => {
    const endpoint = 'ftp://host';
    const body = { endpoint, agent_tags: 'a', max_concurrent: -1 };
    const response = await sendChecked(server.url, buildCall('registerAgent', secrets, body));
    expect([...pointersOf(response)].sort()).toEqual(['/agent_tags', '/endpoint', '/max_concurrent']);
  });

  test.each([
    ...[
      '',
      'pull ',
      'PULL',
      'agent',
      '/tasks',
      '//host/tasks',
      'ftp://host',
      'http://',
      'http://u:p@host/',
      'https://u@host',
    ],
    ...['file:///etc/passwd', 'javascript:alert(1)', 'http://[::1', 'http://host:99999/', 'ws://host'],
  ])('the endpoint %j is refused', async (endpoint) => {
    const response = await sendChecked(server.url, buildCall('registerAgent', secrets, { endpoint }));
    expect(`${response.status} ${pointersOf(response).join()}`).toBe('422 /endpoint');
  });

  test('a misspelt filter of cancelTasks is refused with its name, and so are twenty of a thousand', async () => {
    const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, nth) => [`unknown-${nth}`, 1]));
    const send = async (filter: object) =>
      await sendChecked(server.url, buildCall('cancelTasks', secrets, { request_ids: undefined, filter }));
    const one = await send({ typ: 'a', type: 'b' });
    expect(one.json.errors).toEqual([
      { pointer: '/filter/typ', detail: expect.stringMatching(/^is not known here; send any of status, /) },
    ]);
    expect(pointersOf(await send(many))).toHaveLength(20);
  });

  test('a piece with both a text and data is refused, and one with neither', async () => {
    const question = { key: 'k', prompt: '?' };
    const pieces = [{ text: 'a' }, { text: 'a', data: 1 }, {}, { text: 'a', question }, { question }];
    const response = await sendChecked(server.url, buildCall('writeOutput', secrets, { pieces }));
    expect(pointersOf(response)).toEqual(['/pieces/1', '/pieces/2', '/pieces/3']);
  });

  test.each(['.', '..'])('the agent %j, which no path can name, is refused', async (agent_id) => {
    const response = await sendChecked(server.url, buildCall('registerAgent', secrets, { agent_id }));
    expect(`${response.status} ${pointersOf(response).join()}`).toBe('422 /agent_id');
  });

  test.each([
    'pull',
    'http://host',
    'HTTPS://Host:8443/a?b=c#d',
    'http://[::1]:80/',
    'http://2130706433/',
    'http://主机/任务',
  ])('the endpoint %j is accepted unchanged', async (endpoint) => {
    gateway.calls.length = 0;
    const response = await sendChecked(server.url, buildCall('registerAgent', secrets, { endpoint }));
    expect(response.status).toBe(200);
    expect(gateway.calls[0]?.args[0]).toMatchObject({ endpoint });
  });

  test.each(['', 'ü', 'a'.repeat(256)])('the Idempotency-Key %j is refused', async (key) => {
    const call = buildCall('submitTask', secrets);
    const response = await sendChecked(server.url, {
      ...call,
      headers: { ...call.headers, 'idempotency-key': key },
    });
    expect(`${response.status} ${pointersOf(response).join()}`).toBe('422 /Idempotency-Key');
  });

  test.each(['a', 'a'.repeat(255), '~ !"#'])('the Idempotency-Key %j is passed on', async (key) => {
    const call = buildCall('submitTask', secrets);
    gateway.calls.length = 0;
    const response = await sendChecked(server.url, {
      ...call,
      headers: { ...call.headers, 'idempotency-key': key },
    });
    expect(response.status).toBe(200);
    expect(gateway.calls[0]?.args[1]).toBe(key);
  });
});

describe('defaults', () => {
  test('absent fields get the defaults of the document', async () => {
    const defaults = new Map(
      bodies.map(({ operationId, schema }) => [
        operationId,
        Object.fromEntries(
          Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
            const value = (resolve(property) as { readonly default?: unknown }).default;
            return value === undefined ? [] : [[name, value]];
          }),
        ),
      ]),
    );
    expect(defaults.get('submitTask')).toEqual({ cli_session_id: '', timeout: 600 });
    for (const [operationId, fields] of defaults) {
      if (Object.keys(fields).length === 0) continue;
      gateway.calls.length = 0;
      const call = buildCall(operationId, secrets);
      const body = JSON.parse(String(call.body));
      for (const name of Object.keys(fields)) delete body[name];
      expect((await sendChecked(server.url, { ...call, body: JSON.stringify(body) })).status).toBeLessThan(
        300,
      );
      expect(gateway.calls[0]?.args[0], operationId).toMatchObject(fields);
      expect(gateway.calls[0]?.args[0], operationId).not.toHaveProperty('auth');
    }
  });
});
