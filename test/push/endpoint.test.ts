/**
 * Endpoints are parsed once and kept: what is kept must be what parsing says, for any number of endpoints.
 */
import { describe, expect, test } from 'vitest';
import { parseEndpoint } from '../../server/net/endpoint.ts';

describe('an endpoint', () => {
  test.each([
    ['http://127.0.0.1:9000/push?a=1#b', { origin: 'http://127.0.0.1:9000', path: '/push?a=1' }],
    ['HTTPS://Agent.Example:443', { origin: 'https://agent.example', path: '/' }],
    ['ftp://agent.example/', 'the endpoint is not an http(s) URL'],
    ['pull', 'the endpoint is not an http(s) URL'],
    ['http://name:word@agent.example/', 'the endpoint contains credentials'],
  ])('%s is the same the second time', (text, expected) => {
    expect(parseEndpoint(text)).toEqual(expected);
    expect(parseEndpoint(text)).toEqual(expected);
  });

  test('is parsed again after ten thousand others', () => {
    const endpoints = Array.from({ length: 10_000 }, (_, n) => `http://agent-${n}.example:8080/p${n}`);
    for (let round = 0; round < 2; round += 1) {
      for (const [n, endpoint] of endpoints.entries()) {
        const expected = { origin: `http://agent-${n}.example:8080`, path: `/p${n}` };
        expect(parseEndpoint(endpoint)).toEqual(expected);
      }
    }
  });
});
