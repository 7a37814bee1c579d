/** The address of a caller: its socket's, or what trusted proxies wrote into its headers. */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { createRemoteAddresses } from '../../server/http/remote-address.ts';

const PROXIES = ['127.0.0.1', '10.0.0.0/8', 'fd00::/8'];

function peerOf(proxies: readonly string[], peer: string, headers: Record<string, string>): string {
  const req = { socket: { remoteAddress: peer }, headers };
  return createRemoteAddresses(proxies).peerOf(req as unknown as IncomingMessage);
}

describe('without trusted proxies', () => {
  test.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['2001:db8:1:2::9', '2001:db8:1:2'],
    ['127.0.0.1', null],
    ['127.8.8.8', null],
    ['::1', null],
    ['::ffff:127.0.0.1', null],
    ['', null],
  ])('the connections of %s count as %s', (remoteAddress, address) => {
    expect(createRemoteAddresses([]).ofConnection({ remoteAddress } as Socket)).toBe(address);
  });

  test('headers mean nothing', () => {
    const headers = { 'x-forwarded-for': '203.0.113.1', forwarded: 'for=203.0.113.1' };
    expect(peerOf([], '192.0.2.1', headers)).toBe('192.0.2.1');
  });
});

describe('with trusted proxies', () => {
  test.each([
    ['an untrusted peer', '192.0.2.1', { 'x-forwarded-for': '203.0.113.1' }, '192.0.2.1'],
    ['one caller', '127.0.0.1', { 'x-forwarded-for': '203.0.113.1' }, '203.0.113.1'],
    ['what the caller invented', '127.0.0.1', { 'x-forwarded-for': '1.1.1.1, 203.0.113.1' }, '203.0.113.1'],
    ['two proxies', '127.0.0.1', { 'x-forwarded-for': '1.1.1.1,203.0.113.1, 10.1.2.3' }, '203.0.113.1'],
    ['proxies alone', '127.0.0.1', { 'x-forwarded-for': '10.1.2.3, 10.1.2.4' }, '10.1.2.3'],
    ['a mapped address', '::ffff:127.0.0.1', { 'x-forwarded-for': '::ffff:203.0.113.1' }, '203.0.113.1'],
    ['a port', '10.0.0.1', { 'x-forwarded-for': '203.0.113.1:4711' }, '203.0.113.1'],
    ['IPv6 and a port', '10.0.0.1', { 'x-forwarded-for': '[2001:db8::1]:4711' }, '2001:db8::1'],
    [
      'Forwarded',
      'fd00::1',
      { forwarded: 'for=1.1.1.1;proto=http, for=203.0.113.1;by=10.0.0.1' },
      '203.0.113.1',
    ],
    [
      'Forwarded, quoted',
      '10.0.0.1',
      { forwarded: 'proto=https;For="[2001:db8:0:7::1]:80"' },
      '2001:db8:0:7::1',
    ],
    [
      'both headers',
      '10.0.0.1',
      { 'x-forwarded-for': '203.0.113.1', forwarded: 'for=1.1.1.1' },
      '203.0.113.1',
    ],
    ['an unknown caller', '10.0.0.1', { 'x-forwarded-for': '1.1.1.1, unknown' }, '10.0.0.1'],
    ['a hidden caller', '10.0.0.1', { forwarded: 'for=_secret' }, '10.0.0.1'],
    ['a caller on the proxy’s machine', '10.0.0.1', { 'x-forwarded-for': '::1' }, '::1'],
    ['no header', '10.0.0.1', {}, '10.0.0.1'],
    ['an empty header', '10.0.0.1', { 'x-forwarded-for': '' }, '10.0.0.1'],
  ])('%s: %s with %j is %s', (_what, peer, headers, address) => {
    expect(peerOf(PROXIES, peer, headers)).toBe(address);
  });

  test.each([
    ['192.0.2.1', '192.0.2.1'],
    ['10.0.0.1', null],
    ['127.0.0.1', null],
  ])('the connections of %s count as %s', (remoteAddress, address) => {
    expect(createRemoteAddresses(PROXIES).ofConnection({ remoteAddress } as Socket)).toBe(address);
  });
});
