/**
 * A web page gives its own name the address of a gateway (DNS rebinding), and calls it from a browser on the
 * gateway's machine. With the default secret such calls are refused by `Host` and `Origin`, with a secret of
 * its own those that carry none; calls of the machine itself are served.
 */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { DEFAULT_GATEWAY_AUTH } from '../../../server/config/settings.ts';
import { ADMIN_SECRET, type GatewayProcess, SECRET, startGateway } from '../../harness/gateway-process.ts';
import { exchange } from '../../http/raw-connection.ts';
import { launchBrowser } from '../browser-page.ts';

const BODY = JSON.stringify({ auth: DEFAULT_GATEWAY_AUTH, task_type: 't', task_tags: [], payload: {} });
const SUBMIT = [`Content-Length: ${BODY.length}`, 'Content-Type: application/json', 'Connection: close'];

let gateway: GatewayProcess;
beforeAll(async () => {
  gateway = await startGateway({ GATEWAY_AUTH: DEFAULT_GATEWAY_AUTH, CORS_ORIGINS: 'https://page.example' });
});
afterAll(() => gateway?.stop());

/** Submits a task with these headers; returns the status and the code of the problem, if any. */
async function submitWith(
  headers: readonly string[],
  { baseUrl } = gateway,
  version = '1.1',
): Promise<string> {
  const head = [`POST /api/cli/tasks HTTP/${version}`, ...headers, ...SUBMIT].join('\r\n');
  const text = await exchange(Number(new URL(baseUrl).port), `${head}\r\n\r\n${BODY}`);
  const code = /"code":"(\w+)"/.exec(text)?.[1];
  return [text.slice(9, 12), ...(code === undefined ? [] : [code])].join(' ');
}

describe('a gateway with the default secret', () => {
  test.each([
    [['Host: evil.example'], '421 misdirected'],
    [['Host: evil.example:8080', 'Origin: http://evil.example:8080'], '421 misdirected'],
    [['Host: 10.0.0.7'], '421 misdirected'],
    [['Host: localhost', 'Origin: https://evil.example'], '403 origin_not_allowed'],
    [['Host: localhost', 'Origin: null'], '403 origin_not_allowed'],
    [['Host: localhost', 'Host: evil.example'], '400 malformed_request'],
    [['Host: evil.example', 'Host: localhost'], '400 malformed_request'],
    [[], '400 malformed_request'],
  ])('refuses a submission with %j: %s', async (headers, expected) => {
    expect(await submitWith(headers)).toBe(expected);
  });

  test.each([
    [['Host: localhost:8080']],
    [['Host: 127.0.0.1']],
    [['Host: [::1]:8080']],
    [['Host: localhost', 'Origin: http://localhost:3000']],
    [['Host: localhost', 'Origin: https://page.example']],
  ])('accepts a submission with %j', async (headers) => {
    expect(await submitWith(headers)).toBe('200');
  });

  test('accepts one of HTTP/1.0 without a host', async () => {
    expect(await submitWith([], gateway, '1.0')).toBe('200');
  });
});

test('the names of ALLOWED_HOSTS are served beside those of the machine', async () => {
  const named = await startGateway({
    GATEWAY_AUTH: DEFAULT_GATEWAY_AUTH,
    ALLOWED_HOSTS: 'gateway.test, 10.0.0.7',
  });
  onTestFinished(async () => void (await named.stop()));
  const hosts = ['Gateway.Test:8080', '10.0.0.7', 'localhost', 'evil.example'];
  const responses = await Promise.all(hosts.map((host) => submitWith([`Host: ${host}`], named)));
  expect(responses).toEqual(['200', '200', '200', '421 misdirected']);
});

test('with a secret of its own the gateway compares the secret under any name', async () => {
  const own = await startGateway();
  onTestFinished(async () => void (await own.stop()));
  const headers = ['Host: evil.example', 'Origin: https://evil.example'];
  expect(await submitWith(headers, own)).toBe('401 unauthorized');
});

test('a page under a rebound name does nothing for an agent without the secret, in a real browser', {
  tags: 'chromium',
}, async () => {
  const own = await startGateway();
  onTestFinished(async () => void (await own.stop()));
  const browser = await launchBrowser(['--host-resolver-rules=MAP rebound.test 127.0.0.1']);
  onTestFinished(() => browser.close());
  const register = { auth: SECRET, agent_id: 'a', endpoint: 'pull', agent_tags: ['x'] };
  await fetch(`${own.baseUrl}/api/agent/register`, { method: 'POST', body: JSON.stringify(register) });

  /** What a page of this name learns when it calls; its own origin is the gateway's. */
  async function tryFrom(name: string, path: string, body: object): Promise<string> {
    const page = await browser.newPage();
    // The index at `/` is served under every name, and makes the page.
    await page.goto(`http://${name}:${new URL(own.baseUrl).port}/`);
    const learnt = await page.evaluate(
      async ([to, text]) => {
        const headers = { 'content-type': 'application/json' };
        const answer = await fetch(to, { method: 'POST', headers, body: text });
        const { code = '' } = (await answer.json()) as { code?: string };
        return `${answer.status} ${code}`.trim();
      },
      [path, JSON.stringify(body)] as const,
    );
    await page.close();
    return learnt;
  }

  const agent = { agent_id: 'a' };
  const report = { ...agent, request_id: 'none', status: 'success', result: {} };
  const unregister = '/api/agent/unregister';
  expect(await tryFrom('rebound.test', unregister, agent)).toBe('421 misdirected');
  expect(await tryFrom('rebound.test', '/api/agent/heartbeat', agent)).toBe('421 misdirected');
  expect(await tryFrom('rebound.test', '/api/agent/result', report)).toBe('421 misdirected');
  const shown = await fetch(`${own.baseUrl}/api/admin/agents/a`, {
    headers: { 'X-Admin-Auth': ADMIN_SECRET },
  });
  expect(await shown.json()).toMatchObject({ state: 'ready' });
  expect(await tryFrom('rebound.test', '/api/agent/heartbeat', { ...agent, auth: SECRET })).toBe('200');
  expect(await tryFrom('localhost', unregister, agent)).toBe('200');
});
