/**
 * The checks of `doctor` against states that are hard to produce with a real gateway: not ready, too new, a
 * stream held back.
 */
import { describe, expect, test } from 'vitest';
import { describeAgents } from '../../sdk/cli/agents-watch.ts';
import type { Connection } from '../../sdk/cli/connection.ts';
import {
  compareClocks,
  compareVersions,
  diagnoseAgents,
  diagnoseGateway,
  diagnoseSecret,
  explainMissingEvent,
} from '../../sdk/cli/doctor/checks.ts';
import type { ListedAgent, Task } from '../../sdk/contract.ts';
import { createApiError } from '../../sdk/errors.ts';

const { signal } = new AbortController();

/** A connection to a server that gives the same response to every request. */
function connectionTo(respond: () => Response | Promise<Response>): Pick<Connection, 'url' | 'sdkOptions'> {
  const fetch = async () => respond();
  return {
    url: 'http://gateway/under/',
    sdkOptions: { baseUrl: 'http://gateway', auth: 'x', logLevel: 'off', headers: {}, fetch },
  };
}

function respondWith(status: number, body: string, version = '1.0.0'): () => Response {
  return () => new Response(body, { status, headers: { 'Task-Gateway-Version': version } });
}

/** A client all of whose calls run `call`. */
function clientOf(call: () => Promise<unknown>): Connection['client'] {
  return { getTask: call, listAgents: call } as unknown as Connection['client'];
}

const unavailable = createApiError({ status: 503, attempts: 1, headers: new Headers() });
const failing = clientOf(() => Promise.reject(unavailable));

describe('the gateway check', () => {
  test('requests /readyz below the path of the address', async () => {
    const urls: string[] = [];
    const connection = connectionTo(respondWith(200, '{}'));
    const fetch: Connection['sdkOptions']['fetch'] = async (request) => {
      urls.push(request.url);
      return connection.sdkOptions.fetch(request);
    };
    await diagnoseGateway({ ...connection, sdkOptions: { ...connection.sdkOptions, fetch } }, signal);
    expect(urls).toEqual(['http://gateway/under/readyz']);
  });

  test.each([
    ['draining', respondWith(503, '{"status":"unavailable","reason":"draining"}'), 'not ready (draining)'],
    ['broken', respondWith(503, 'oops'), 'not ready (status 503)'],
    [
      'another server',
      () => new Response('hello'),
      'does not identify itself as a Task Gateway (status 200)',
    ],
    ['a redirect', () => new Response(null, { status: 302, headers: { location: '/' } }), 'status 302'],
  ])('%s is wrong', async (_what, respond, text) => {
    const [first] = await diagnoseGateway(connectionTo(respond), signal);
    expect(first).toMatchObject({ check: 'gateway', state: 'wrong', text: expect.stringContaining(text) });
  });

  test.each([
    [
      Object.assign(new TypeError('fetch failed'), {
        cause: Object.assign(new Error(), { code: 'ENOTFOUND' }),
      }),
      '(ENOTFOUND)',
    ],
    [new DOMException('late', 'TimeoutError'), 'within 5 s'],
    [new Error('odd'), 'No response from http://gateway/under/'],
  ])('no response is wrong, and the finding gives the reason: %s', async (error, text) => {
    const [first] = await diagnoseGateway(
      connectionTo(() => Promise.reject(error)),
      signal,
    );
    expect(first).toMatchObject({ state: 'wrong', text: expect.stringContaining(text) });
  });

  test('a gateway that is not ready is not also called right; one with a warning is noted', async () => {
    const notReady = await diagnoseGateway(connectionTo(respondWith(503, '{"reason":"draining"}')), signal);
    expect(notReady.map(({ state }) => state)).toEqual(['wrong']);
    const other = await diagnoseGateway(connectionTo(respondWith(503, '{}', '9.0.0')), signal);
    expect(other.map(({ check, state }) => [check, state])).toEqual([
      ['gateway', 'wrong'],
      ['version', 'wrong'],
    ]);
    const body = '{"status":"ok","warning":"the clock of the store has moved"}';
    const [warned] = await diagnoseGateway(connectionTo(respondWith(200, body)), signal);
    expect(warned).toMatchObject({
      state: 'note',
      text: expect.stringMatching(/warns: the clock .*moved\.$/),
    });
  });

  test('another major version is wrong although it is ready', async () => {
    const findings = await diagnoseGateway(connectionTo(respondWith(200, '{}', '9.0.0')), signal);
    expect(findings.map(({ state }) => state)).toEqual(['right', 'wrong']);
  });
});

describe('the checks of the secrets', () => {
  test('do not call a secret right if the gateway can’t check it', async () => {
    expect(await diagnoseSecret({ client: failing, isDefaultAuth: false }, signal)).toMatchObject({
      state: 'wrong',
    });
    const [first] = await diagnoseAgents({ client: failing, adminAuth: 'x' }, signal);
    expect(first).toMatchObject({ state: 'wrong', text: expect.stringContaining('503') });
  });

  test('note that the default secret is public', async () => {
    const finding = await diagnoseSecret({ client: clientOf(async () => ({})), isDefaultAuth: true }, signal);
    expect(finding).toMatchObject({ state: 'note', text: expect.stringContaining('which is public') });
  });

  test.each([
    [[], 'No agent is registered', 'note'],
    [[{ eligible: false }], '1 agent is registered, 0 can take', 'note'],
    [[{ eligible: true }, { eligible: false }], '2 agents are registered, 1 can take', 'right'],
  ])('count the agents %j: %s', async (agents: readonly Partial<ListedAgent>[], text, state) => {
    const client = clientOf(async () => ({ agents, total: agents.length }));
    const [, finding] = await diagnoseAgents({ client, adminAuth: 'x' }, signal);
    expect(finding).toMatchObject({ check: 'agents', state, text: expect.stringContaining(text) });
  });
});

describe('an event that does not arrive is explained', () => {
  test.each([
    [{ status: 'success', error_info: null }, 'its event did not arrive', 'turn buffering off'],
    [{ status: 'failed', error_info: '无可用 Agent' }, '无可用 Agent', 'turn buffering off'],
    [{ status: 'running', error_info: null }, 'still running after 10 s', 'overloaded'],
  ] as readonly [Partial<Task>, string, string][])('%j', async (task, text, advice) => {
    expect(await explainMissingEvent({ getTask: async () => task as never }, 'id', 10)).toMatchObject({
      state: 'wrong',
      text: expect.stringContaining(text),
      advice: expect.stringContaining(advice),
    });
  });
});

describe('the comparisons of doctor', () => {
  test('accept clocks that differ a little in either direction', () => {
    expect(compareClocks(1_000, 999_000, 1_001_000).state).toBe('right');
    expect(compareClocks(1_000, 1_004_000, 1_004_100).state).toBe('right');
    expect(compareClocks(1_000, 1_060_000, 1_060_100)).toMatchObject({
      state: 'wrong',
      text: expect.stringContaining('60 s behind'),
    });
    expect(compareClocks(1_060, 999_000, 1_000_000)).toMatchObject({
      state: 'wrong',
      text: expect.stringContaining('60 s ahead of'),
    });
  });

  test('accept versions with the same major number', () => {
    expect(compareVersions('1.9.3', '1.0.0').state).toBe('right');
    expect(compareVersions('2.0.0', '1.0.0')).toMatchObject({
      state: 'wrong',
      advice: expect.stringContaining('Install version 2 of'),
    });
  });
});

test.each([
  [[], 'no agent has it'],
  [[{ agent_tags: ['other'], eligible: true }], 'no agent has it'],
  [[{ full: true }], '1 agent has it, full'],
  [[{ full: true }, { full: true }], '2 agents have it, all full'],
  [
    [{ full: true, state: 'offline' }, { full: true }, { state: 'draining' }],
    '3 agents have it: 1 offline, 1 full, 1 draining',
  ],
  [[{ eligible: true }, { full: true }], '2 agents have it: 1 free, 1 full'],
] as readonly [readonly Partial<ListedAgent>[], string][])(
  'the agents that a waiting task could go to are described: %j as %s',
  (agents, text) => {
    const base = { agent_tags: ['gpu', 'x'], state: 'processing', full: false, eligible: false };
    const listings = agents.map((agent) => ({ ...base, ...agent }) as ListedAgent);
    expect(describeAgents(listings, ['cpu', 'gpu'])).toBe(text);
  },
);
