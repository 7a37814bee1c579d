/**
 * The order in which a request is checked: of any two faults, the response reports the one further up in the
 * table, and the gateway is not called for a request that was refused.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { GatewayError } from '../../server/ports/gateway.ts';
import { buildCall, type OperationId } from '../contract/usual-calls.ts';
import { ADMIN_SECRET, SECRET, startTestServer, type TestServer } from '../harness/http-server.ts';
import { sendChecked } from './checked-call.ts';
import { createFakeGateway } from './fake-gateway.ts';

/** A request being built; its body is an object until it is sent. */
type Draft = {
  method: string;
  path: string;
  readonly query: URLSearchParams;
  readonly headers: Record<string, string>;
  readonly body: Record<string, unknown>;
  cut: boolean;
};

type Fault = {
  readonly what: string;
  readonly expected: string;
  spoil(draft: Draft, operationId: OperationId): void;
};

const BODY_BYTES_MAX = 10_000;

/** One field of each body, with a value of a wrong type. */
const WRONG_FIELD: Partial<Record<OperationId, readonly [string, unknown]>> = {
  submitTask: ['payload', 1],
  registerAgent: ['agent_tags', 'a'],
  heartbeatAgent: ['draining', 'yes'],
  claimTask: ['wait', 'long'],
  reportResult: ['status', 'done'],
  writeOutput: ['from', -1],
  unregisterAgent: ['agent_id', ''],
  cancelTasks: ['request_ids', 'all'],
  drainAgent: ['draining', 'yes'],
};

const path: Fault = {
  what: 'an unknown path',
  expected: '404 route_not_found',
  spoil: (draft) => {
    draft.path += '/and/more';
  },
};
const method: Fault = {
  what: 'a method the path does not serve',
  expected: '405 method_not_allowed',
  spoil: (draft) => {
    draft.method = 'PUT';
  },
};
const querySecret: Fault = {
  what: 'a wrong secret in the query',
  expected: '401 unauthorized',
  spoil: ({ query }) => query.set('auth', 'wrong'),
};
const adminSecret: Fault = {
  what: 'a wrong secret in the header',
  expected: '401 unauthorized',
  spoil: ({ headers }) => {
    headers['x-admin-auth'] = SECRET;
  },
};
const size: Fault = {
  what: 'a body that is too large',
  expected: '413 payload_too_large',
  spoil: ({ body }) => {
    body.more = 'x'.repeat(BODY_BYTES_MAX);
  },
};
const encoding: Fault = {
  what: 'a compressed body',
  expected: '415 unsupported_media_type',
  spoil: ({ headers }) => {
    headers['content-encoding'] = 'br';
  },
};
const json: Fault = {
  what: 'a body that is not JSON',
  expected: '400 malformed_body',
  spoil: (draft) => {
    draft.cut = true;
  },
};
const bodySecret: Fault = {
  what: 'a wrong secret in the body',
  expected: '401 unauthorized',
  spoil: ({ body }) => {
    body.auth = 'wrong';
  },
};
const agent_id: Fault = {
  what: 'no agent_id',
  expected: '400 agent_id_missing',
  spoil: ({ body }) => {
    delete body.agent_id;
  },
};
const field: Fault = {
  what: 'a field of a wrong type',
  expected: '422 validation_failed',
  spoil: ({ body }, operationId) => {
    const [name, value] = WRONG_FIELD[operationId] ?? ['', null];
    body[name] = value;
  },
};
const parameter: Fault = {
  what: 'a query parameter out of its range',
  expected: '422 validation_failed',
  spoil: ({ query }) => {
    for (const name of ['wait', 'limit', 'tags']) query.set(name, '-1');
    query.set('status', 'ended');
    query.set('cli_session_id', '');
  },
};
/** The last check is the gateway itself, which refuses every call here. */
const state: Fault = { what: 'a gateway that refuses', expected: '503 busy', spoil: () => {} };

const inBody = [path, method, querySecret, size, encoding, json, bodySecret];
const table: readonly (readonly [OperationId, readonly Fault[]])[] = [
  ['submitTask', [...inBody, field, state]],
  ['registerAgent', [...inBody, field, state]],
  ['heartbeatAgent', [...inBody, agent_id, field, state]],
  ['claimTask', [...inBody, agent_id, field, state]],
  ['reportResult', [...inBody, agent_id, field, state]],
  ['writeOutput', [...inBody, agent_id, field, state]],
  ['readOutput', [path, method, querySecret, parameter]],
  ['unregisterAgent', [...inBody, agent_id, field, state]],
  ['getTask', [path, method, querySecret, parameter]],
  ['cancelTask', [path, method, querySecret, state]],
  ['subscribeEvents', [path, method, querySecret, parameter]],
  ['listAgents', [path, method, adminSecret, parameter]],
  ['listTasks', [path, method, adminSecret, parameter]],
  ['getOverview', [path, method, adminSecret, parameter]],
  ['getAgent', [path, method, adminSecret]],
  ['cancelTasks', [path, method, adminSecret, size, encoding, json, field]],
  ['drainAgent', [path, method, adminSecret, size, encoding, json, field]],
];

const gateway = createFakeGateway();
const refusing = createFakeGateway(
  Object.fromEntries(
    Object.keys(gateway)
      .filter((key) => key !== 'calls' && key !== 'health')
      .map((key) => [key, () => Promise.reject(new GatewayError('busy', 'It has too much to do.'))]),
  ),
);

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer(refusing, { limits: { bodyBytesMax: BODY_BYTES_MAX } });
});
afterAll(() => server.stop());
beforeEach(() => {
  refusing.calls.length = 0;
});

async function askWith(operationId: OperationId, faults: readonly Fault[]): Promise<string> {
  const call = buildCall(operationId, { gateway: SECRET, admin: ADMIN_SECRET }, {}, 'x');
  const [pathname = '', search = ''] = call.path.split('?');
  const draft: Draft = {
    method: call.method,
    path: pathname,
    query: new URLSearchParams(search),
    headers: { ...call.headers },
    body: call.body === undefined ? {} : JSON.parse(String(call.body)),
    cut: false,
  };
  for (const fault of faults.toReversed()) fault.spoil(draft, operationId);
  const text = JSON.stringify(draft.body);
  const { status, json: response } = await sendChecked(server.url, {
    method: draft.method as 'POST',
    path: `${draft.path}?${draft.query}`,
    headers: draft.headers,
    ...(call.body !== undefined && { body: draft.cut ? text.slice(0, -1) : text }),
  });
  return `${status} ${String(response.code)}`;
}

describe('the order of checks', () => {
  test.each(table)(
    '%s reports the first of every two faults in the order of the table',
    async (operationId, faults) => {
      for (const [index, first] of faults.entries()) {
        expect(await askWith(operationId, [first]), first.what).toBe(first.expected);
        for (const second of faults.slice(index + 1)) {
          const what = `${first.what} and ${second.what}`;
          expect(await askWith(operationId, [first, second]), what).toBe(first.expected);
        }
      }
      expect(refusing.calls.length).toBe(faults.includes(state) ? 1 : 0);
    },
  );
});

test('a secret that agents must have is missed behind the bytes of a body, and before what is in it', async () => {
  const strict = await startTestServer(createFakeGateway(), { settings: { isAgentAuthRequired: true } });
  for (const operationId of ['heartbeatAgent', 'reportResult', 'unregisterAgent'] as const) {
    const call = buildCall(operationId, { gateway: SECRET, admin: ADMIN_SECRET });
    const codeOf = async (body: string) => (await sendChecked(strict.url, { ...call, body })).json.code;
    expect(await codeOf('{')).toBe('malformed_body');
    for (const body of ['{}', '[]', '{"agent_id":1}']) expect(await codeOf(body), body).toBe('unauthorized');
  }
  await strict.stop();
});
