/** What the doctor finds where a real gateway can't easily be brought to it: not ready, too new, a stream held back. */
import { describe, expect, test } from 'vitest';
import { checkAgents, checkGateway, checkSecret, explainSilence } from '../../sdk/cli/commands/checks.ts';
import type { Connection } from '../../sdk/cli/connection.ts';
import type { AgentListing, Task } from '../../sdk/contract.ts';
import { createApiError } from '../../sdk/errors.ts';

const { signal } = new AbortController();

/** A connection to somebody who answers every request alike. */
function answering(answer: () => Response | Promise<Response>): Pick<Connection, 'url' | 'reach'> {
  const fetch = async () => answer();
  return {
    url: 'http://gateway/under/',
    reach: { baseUrl: 'http://gateway', auth: 'x', logLevel: 'off', fetch },
  };
}

function answer(status: number, body: string, version = '1.0.0'): () => Response {
  return () => new Response(body, { status, headers: { 'Task-Gateway-Version': version } });
}

/** A client whose one call ends so. */
function clientOf(call: () => Promise<unknown>): Connection['client'] {
  return { getTask: call, listAgents: call } as unknown as Connection['client'];
}

const unavailable = createApiError({ status: 503, attempts: 1, headers: new Headers() });
const failing = clientOf(() => Promise.reject(unavailable));

describe('the way to the gateway', () => {
  test('asks below the path of the address', async () => {
    const asked: string[] = [];
    const connection = answering(answer(200, '{}'));
    const fetch: Connection['reach']['fetch'] = async (request) => {
      asked.push(request.url);
      return connection.reach.fetch(request);
    };
    await checkGateway({ ...connection, reach: { ...connection.reach, fetch } }, signal);
    expect(asked).toEqual(['http://gateway/under/readyz']);
  });

  test.each([
    ['draining', answer(503, '{"status":"unavailable","reason":"draining"}'), 'not ready (draining)'],
    ['broken', answer(503, 'oops'), 'not ready (status 503)'],
    ['a stranger', () => new Response('hello'), 'does not say that it is a Task Gateway (status 200)'],
    ['a redirect', () => new Response(null, { status: 302, headers: { location: '/' } }), 'status 302'],
  ])('%s is wrong', async (_what, reply, text) => {
    const [first] = await checkGateway(answering(reply), signal);
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
    [new Error('odd'), 'Nothing answers'],
  ])('no answer is wrong, and the reason is told: %s', async (error, text) => {
    const [first] = await checkGateway(
      answering(() => Promise.reject(error)),
      signal,
    );
    expect(first).toMatchObject({ state: 'wrong', text: expect.stringContaining(text) });
  });

  test('another major version is wrong although it is ready', async () => {
    const found = await checkGateway(answering(answer(200, '{}', '9.0.0')), signal);
    expect(found.map(({ state }) => state)).toEqual(['right', 'wrong']);
  });
});

describe('the secrets', () => {
  test('a gateway that can’t say is no right secret', async () => {
    expect(await checkSecret({ client: failing, isDefaultAuth: false }, signal)).toMatchObject({
      state: 'wrong',
    });
    const [first] = await checkAgents({ client: failing, adminAuth: 'x' }, signal);
    expect(first).toMatchObject({ state: 'wrong', text: expect.stringContaining('503') });
  });

  test('the one everybody knows is told', async () => {
    const found = await checkSecret({ client: clientOf(async () => ({})), isDefaultAuth: true }, signal);
    expect(found).toMatchObject({ state: 'note', text: expect.stringContaining('everybody knows') });
  });

  test.each([
    [[], 'No agent is registered', 'note'],
    [[{ eligible: false }], '1 agent is registered, 0 can take', 'note'],
    [[{ eligible: true }, { eligible: false }], '2 agents are registered, 1 can take', 'right'],
  ])('agents %j: %s', async (agents: readonly Partial<AgentListing>[], text, state) => {
    const client = clientOf(async () => ({ agents, total: agents.length }));
    const [, found] = await checkAgents({ client, adminAuth: 'x' }, signal);
    expect(found).toMatchObject({ check: 'agents', state, text: expect.stringContaining(text) });
  });
});

describe('an event that does not come', () => {
  test.each([
    [{ status: 'success', error_info: null }, 'its event did not come', 'turn buffering off'],
    [{ status: 'failed', error_info: '无可用 Agent' }, '无可用 Agent', 'turn buffering off'],
    [{ status: 'running', error_info: null }, 'still running after 10 s', 'overloaded'],
  ] as readonly [Partial<Task>, string, string][])('%j', async (task, text, advice) => {
    expect(await explainSilence({ getTask: async () => task as Task }, 'id', 10)).toMatchObject({
      ...{ state: 'wrong', text: expect.stringContaining(text), advice: expect.stringContaining(advice) },
    });
  });
});
