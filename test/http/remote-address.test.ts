/** The address that a request counts for: its socket's, or what trusted proxies wrote into its headers. */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { createRemoteAddresses } from '../../server/http/remote-address.ts';
import { createShares } from '../../server/http/shares.ts';

const PROXIES = ['127.0.0.1', '10.0.0.0/8', 'fd00::/8'];

function ofRequest(proxies: readonly string[], peer: string, headers: Record<string, string>): string | null {
  const req = { socket: { remoteAddress: peer }, headers };
  return createRemoteAddresses(proxies).ofRequest(req as unknown as IncomingMessage);
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
  ])('%s counts as %s, and headers mean nothing', (peer, address) => {
    expect(ofRequest([], peer, {})).toBe(address);
    expect(ofRequest([], peer, { 'x-forwarded-for': '203.0.113.1', forwarded: 'for=203.0.113.1' })).toBe(
      address,
    );
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
    ['IPv6 and a port', '10.0.0.1', { 'x-forwarded-for': '[2001:db8::1]:4711' }, '2001:db8:0:0'],
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
      '2001:db8:0:7',
    ],
    [
      'both headers',
      '10.0.0.1',
      { 'x-forwarded-for': '203.0.113.1', forwarded: 'for=1.1.1.1' },
      '203.0.113.1',
    ],
    ['an unknown caller', '10.0.0.1', { 'x-forwarded-for': '1.1.1.1, unknown' }, null],
    ['a hidden caller', '10.0.0.1', { forwarded: 'for=_secret' }, null],
    ['a caller on the proxy’s machine', '10.0.0.1', { 'x-forwarded-for': '::1' }, null],
    ['no header', '10.0.0.1', {}, null],
    ['an empty header', '10.0.0.1', { 'x-forwarded-for': '' }, null],
  ])('%s: %s with %j counts as %s', (_what, peer, headers, address) => {
    expect(ofRequest(PROXIES, peer, headers)).toBe(address);
  });

  test.each([
    ['192.0.2.1', '192.0.2.1'],
    ['10.0.0.1', null],
    ['127.0.0.1', null],
  ])('the connections of %s count as %s', (remoteAddress, address) => {
    expect(createRemoteAddresses(PROXIES).ofConnection({ remoteAddress } as Socket)).toBe(address);
  });
});

describe('the share of an address', () => {
  test('is half of the pool, returned in any order, and none for an unknown address', () => {
    const shares = createShares(11);
    expect([shares.fits('a', 6), shares.fits('a', 7), shares.fits(null, 100)]).toEqual([true, false, true]);
    shares.add('a', 6);
    shares.add(null, 100);
    expect([shares.fits('a', 1), shares.fits('b', 6)]).toEqual([false, true]);
    shares.add('a', -6);
    expect(shares.fits('a', 6)).toBe(true);
  });
});
