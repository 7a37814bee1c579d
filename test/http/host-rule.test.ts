/**
 * DNS rebinding: which names and origins count as the gateway's own while its secret is the public default
 * one. What is refused for it is in `names-and-origins.test.ts`.
 */
import { describe, expect, test } from 'vitest';
import { createHostRule } from '../../server/http/host-rule.ts';

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
