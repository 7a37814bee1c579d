/**
 * DNS rebinding: while the gateway's secret is the public default one, requests under names of other sites
 * and from their web pages are refused before anything else is looked at.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createHostRule } from '../../server/http/host-rule.ts';
import { SECRET, startTestServer, type TestServer } from '../harness/http-server.ts';
import { createFakeGateway } from './fake-gateway.ts';
import { exchange } from './raw-connection.ts';

const gateway = createFakeGateway();
const settings = {
  isSecretPublic: true,
  allowedHosts: ['Gateway.Test', 'fd00::7'],
  corsOrigins: ['https://page.example'],
};

/** The code of the problem that the rule throws; null when it passes. */
function findCode(host: string | undefined, origin?: string): unknown {
  const headers = { ...(host !== undefined && { host }), ...(origin !== undefined && { origin }) };
  try {
    createHostRule(settings).ofEveryCall(headers);
    return null;
  } catch (error) {
    return error instanceof Error && 'code' in error ? error.code : error;
  }
}

describe('with the default secret', () => {
  test.each([
    ...['127.0.0.1', '127.0.0.1:8080', '127.9.9.9', '[::1]', '[::1]:8080', '[::ffff:127.0.0.1]'],
    ...['localhost', 'LocalHost:1', 'localhost.', 'localhost.:8080', 'gateway.test:8080', '[fd00::7]:8080'],
  ])('the host %s is served', (host) => {
    expect(findCode(host)).toBe(null);
  });

  test.each([
    ...['evil.example', 'evil.example:8080', '127.0.0.1.evil.example', 'localhost.evil.example', '0.0.0.0'],
    ...['10.0.0.7', '[::]', '[fd00::8]', '', ':8080', 'localhost:x', 'user@localhost', 'xlocalhost', 'a b'],
  ])('the host %j is refused', (host) => {
    expect(findCode(host)).toBe('misdirected');
  });

  test.each([
    ...['http://localhost', 'http://localhost:3000', 'https://127.0.0.1:1', 'http://[::1]:8080'],
    ...['https://page.example', 'https://gateway.test'],
  ])('the origin %s is served', (origin) => {
    expect(findCode('localhost', origin)).toBe(null);
  });

  test.each([
    ...['https://evil.example', 'null', '', 'http://page.example', 'https://page.example.evil.example'],
    ...['http://localhost.evil.example', 'file://', 'nonsense'],
  ])('the origin %j is refused', (origin) => {
    expect(findCode('localhost', origin)).toBe('origin_not_allowed');
  });

  test('a request without a host, as of HTTP/1.0, is served', () => {
    expect(findCode(undefined)).toBe(null);
  });
});

describe('on the wire', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startTestServer(gateway, { settings });
  });
  afterAll(() => server.stop());

  const open = ['/livez', '/readyz', '/', '/openapi.json', '/openapi.admin.json', '/openapi.agent.json'];
  const paths = ['/metrics', '/docs', '/console/', '/nowhere', '/api/cli/tasks/x', '/api/admin/agents'];

  async function ask(method: string, path: string, headers: string): Promise<string> {
    return await exchange(
      server.port,
      `${method} ${path} HTTP/1.1\r\n${headers}\r\nConnection: close\r\n\r\n`,
    );
  }

  test.each(open)('%s is served under any host and to any origin', async (path) => {
    const text = await ask('GET', path, 'Host: 10.0.0.7\r\nOrigin: https://evil.example');
    expect(text).toMatch(/^HTTP\/1\.1 200 .*\r\naccess-control-allow-origin: \*\r\n/is);
  });

  test.each(paths)('a foreign host gets a 421 at %s, and learns the remedy', async (path) => {
    for (const method of ['GET', 'POST', 'OPTIONS']) {
      const text = await ask(method, path, 'Host: evil.example');
      expect(text, method).toMatch(/^HTTP\/1\.1 421 .*"code":"misdirected"/s);
      expect(text).toContain('Task-Gateway-Version: ');
      expect(text).toMatch(/GATEWAY_AUTH.*ALLOWED_HOSTS/);
    }
  });

  test.each(paths)('a foreign origin gets a 403 at %s that its page can’t read', async (path) => {
    for (const origin of ['https://evil.example', 'null']) {
      const text = await ask('GET', path, `Host: localhost\r\nOrigin: ${origin}`);
      expect(text, origin).toMatch(/^HTTP\/1\.1 403 .*"code":"origin_not_allowed"/s);
      expect(text).not.toMatch(/access-control/i);
      expect(text).toMatch(/GATEWAY_AUTH.*CORS_ORIGINS/);
    }
  });

  test('HTTP/1.0 without a host is served', async () => {
    expect(await exchange(server.port, 'GET /livez HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 /);
  });

  test('the gateway does nothing for a refused call', async () => {
    gateway.calls.length = 0;
    const body = JSON.stringify({ auth: SECRET, task_type: 't', task_tags: [], payload: {} });
    await ask(
      'POST',
      '/api/cli/tasks',
      `Host: evil.example\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    expect(gateway.calls).toEqual([]);
  });
});
