/** Where a push may go: every way of writing a forbidden address is judged as the address it is. */
import { describe, expect, test } from 'vitest';
import { createAddressJudge } from '../../server/push/address.ts';
import { embeddedAddresses, parseNetwork, unmapAddress } from '../../server/push/networks.ts';
import { FRIENDLY, HOSTILE } from './addresses.ts';

const open = createAddressJudge({ allow: [], deny: [] });

/** The address a URL's host comes down to, or the name that it is. */
function readHost(host: string): string {
  return new URL(`http://${host}/`).hostname.replace(/^\[|\]$/g, '');
}

/** Classes of disguise, by how the host is written. */
const WAYS: Readonly<Record<string, RegExp>> = {
  'one decimal number': /^[1-9]\d*$/,
  hexadecimal: /^0x[0-9a-f]+$/i,
  'octal or hexadecimal parts': /^0[0-7x][0-9a-f]*\./i,
  'fewer than four parts': /^(0x)?[0-9a-f]+(\.(0x)?[0-9a-f]+){1,2}$/i,
  'percent-encoded or of other scripts': /%|[^ -~]/,
  'mapped IPv6': /^\[(::|0:0:0:0:0:|0000:0000:0000:0000:0000:)ffff:/i,
  'translated and compatible IPv6': /^\[::(ffff:0:|[0-9a-f]{1,4}:|\d+\.)/i,
  NAT64: /^\[64:ff9b:/i,
  '6to4': /^\[2002:/i,
  'Teredo and ISATAP': /^\[2001:0?:|5efe:/i,
  'unique local IPv6': /^\[fd/i,
  'link-local IPv6': /^\[fe[89ab]/i,
};

describe('what is never reached', () => {
  for (const [reason, hosts] of Object.entries(HOSTILE)) {
    test(`${reason}: ${hosts.length} ways to write it`, () => {
      const told = hosts.map((host) => [host, open(readHost(host))]);
      expect(told).toEqual(hosts.map((host) => [host, reason]));
    });
  }

  test('the corpus is as long as it says and repeats nothing', () => {
    const all = Object.values(HOSTILE).flat();
    expect(new Set(all).size).toBe(all.length);
    expect(all.length).toBeGreaterThanOrEqual(120);
    for (const [reason, hosts] of Object.entries(HOSTILE))
      expect(hosts.length, reason).toBeGreaterThanOrEqual(5);
    // Ways of writing, whatever the address: each stands there at least five times.
    const count = (way: RegExp): number => all.filter((host) => way.test(host)).length;
    for (const [name, way] of Object.entries(WAYS)) expect(count(way), name).toBeGreaterThanOrEqual(5);
  });

  test('no allow list lifts it', () => {
    const generous = createAddressJudge({ allow: ['0.0.0.0/0', '::/0'], deny: [] });
    for (const [reason, hosts] of Object.entries(HOSTILE)) {
      for (const host of hosts) expect([host, generous(readHost(host))]).toEqual([host, reason]);
    }
  });

  test('a zone does not hide a link-local address', () => {
    expect(open('fe80::1%eth0')).toBe('link-local');
  });

  test('what is no address is not reached', () => {
    for (const text of ['', 'localhost', '127.1', '1.2.3.4.5', 'fe80:::1', '0x7f.0.0.1']) {
      expect(open(text), text).toBe('not an address');
    }
  });
});

describe('where agents live', () => {
  test('private, loopback and public addresses are allowed', () => {
    for (const host of FRIENDLY) expect(open(readHost(host)), host).toBeNull();
  });

  test('a denied network is refused in every form', () => {
    const judge = createAddressJudge({ allow: [], deny: ['127.0.0.0/8', '::1', 'fd00::/8'] });
    const forms = ['127.0.0.1', '127.255.0.9', '::1', '::ffff:127.0.0.1', '::ffff:7f00:1', '64:ff9b::7f00:1'];
    for (const form of [...forms, '2002:7f00:1::', '::127.0.0.1', 'fd12::1']) {
      expect(judge(form), form).toBe('denied by setting');
    }
    expect(judge('128.0.0.1')).toBeNull();
    expect(judge('::2:0')).toBe('unspecified');
    expect(judge('2001:db8::1')).toBeNull();
  });

  test('an allow list admits nothing outside it, and a deny list goes before it', () => {
    const judge = createAddressJudge({ allow: ['10.0.0.0/8', 'fd00::/8'], deny: ['10.9.0.0/16'] });
    expect(judge('10.1.2.3')).toBeNull();
    expect(judge('::ffff:10.1.2.3')).toBeNull();
    expect(judge('fd00::5')).toBeNull();
    expect(judge('10.9.0.1')).toBe('denied by setting');
    expect(judge('192.168.1.1')).toBe('not allowed by setting');
    expect(judge('::1')).toBe('not allowed by setting');
    // An IPv4 network in the list says nothing about the IPv6 addresses that lead to it.
    expect(judge('64:ff9b::10.1.2.3')).toBe('not allowed by setting');
  });

  test('a list that cannot be read is refused when the judge is made', () => {
    expect(() => createAddressJudge({ allow: ['10.0.0.0/33'], deny: [] })).toThrow(
      '10.0.0.0/33 is no network',
    );
    expect(() => createAddressJudge({ allow: [], deny: ['agents.local'] })).toThrow(
      'agents.local is no network',
    );
  });
});

describe('networks as text', () => {
  test('an address or a network is read', () => {
    expect(parseNetwork('10.0.0.0/8')).toEqual({ address: '10.0.0.0', prefixBits: 8, family: 'ipv4' });
    expect(parseNetwork('10.1.2.3')).toEqual({ address: '10.1.2.3', prefixBits: 32, family: 'ipv4' });
    expect(parseNetwork('fd00::/8')).toEqual({ address: 'fd00::', prefixBits: 8, family: 'ipv6' });
    expect(parseNetwork('::1')).toEqual({ address: '::1', prefixBits: 128, family: 'ipv6' });
    expect(parseNetwork('0.0.0.0/0')?.prefixBits).toBe(0);
  });

  test('anything else is not', () => {
    const wrong = [
      '',
      '/',
      '10.0.0.0/',
      '10.0.0.0/08',
      '10.0.0.0/33',
      '10.0.0.0/-1',
      '10.0.0.0/8/8',
      '10.0.0/8',
    ];
    for (const text of [
      ...wrong,
      'fd00::/129',
      '::ffff:10.0.0.0/104',
      '0:0:0:0:0:ffff:a00:1',
      'fe80::1%eth0',
      'a',
    ]) {
      expect(parseNetwork(text), text).toBeUndefined();
    }
  });

  test('a mapped address is the IPv4 address it travels to', () => {
    expect(unmapAddress('::ffff:10.0.0.1')).toBe('10.0.0.1');
    expect(unmapAddress('0:0:0:0:0:FFFF:0A00:0001')).toBe('10.0.0.1');
    expect(unmapAddress('::fffe:10.0.0.1')).toBe('::fffe:10.0.0.1');
    expect(unmapAddress('fe80::1%3')).toBe('fe80::1');
  });

  test('an IPv4 address is found wherever IPv6 carries one', () => {
    expect(embeddedAddresses('64:ff9b::192.0.2.33')).toEqual(['192.0.2.33']);
    // The example of RFC 6052 for a prefix of 48 bits, with the prefix for local use.
    expect(embeddedAddresses('64:ff9b:1:c000:2:2100::')).toEqual(['192.0.2.33']);
    expect(embeddedAddresses('2002:c000:221::1')).toEqual(['192.0.2.33']);
    // RFC 4380: a server at 65.54.227.120, a client at 192.0.2.45.
    expect(embeddedAddresses('2001:0:4136:e378:8000:63bf:3fff:fdd2')).toEqual([
      '65.54.227.120',
      '192.0.2.45',
    ]);
    expect(embeddedAddresses('::192.0.2.33')).toEqual(['192.0.2.33']);
    expect(embeddedAddresses('fd00::5efe:192.0.2.33')).toEqual(['192.0.2.33']);
    for (const none of ['::1', '::', '2001:db8::1', 'fd00::1', '10.0.0.1']) {
      expect(embeddedAddresses(none), none).toEqual([]);
    }
  });
});
