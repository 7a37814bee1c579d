/** Where a push may go: every spelling of a forbidden address is validated as the address it means. */
import { describe, expect, test } from 'vitest';
import { extractIpv4Addresses, parseNetwork, unmapAddress } from '../../server/net/networks.ts';
import { createAddressValidation } from '../../server/push/address.ts';
import { ALLOWED, FORBIDDEN } from './addresses.ts';

const validate = createAddressValidation({ allow: [], deny: [] });

/** The address that the URL parser makes of a host, or the host name. */
function parseHost(host: string): string {
  return new URL(`http://${host}/`).hostname.replace(/^\[|\]$/g, '');
}

/** Classes of spellings, by how the host is written. */
const SPELLINGS: Readonly<Record<string, RegExp>> = {
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

describe('addresses that are never reached', () => {
  for (const [reason, hosts] of Object.entries(FORBIDDEN)) {
    test(`${reason}: ${hosts.length} spellings`, () => {
      const reasons = hosts.map((host) => [host, validate(parseHost(host))]);
      expect(reasons).toEqual(hosts.map((host) => [host, reason]));
    });
  }

  test('the corpus has at least 120 spellings and repeats none', () => {
    const all = Object.values(FORBIDDEN).flat();
    expect(new Set(all).size).toBe(all.length);
    expect(all.length).toBeGreaterThanOrEqual(120);
    for (const [reason, hosts] of Object.entries(FORBIDDEN))
      expect(hosts.length, reason).toBeGreaterThanOrEqual(5);
    // Every class of spellings occurs at least five times, with any address.
    const count = (spelling: RegExp): number => all.filter((host) => spelling.test(host)).length;
    for (const [name, spelling] of Object.entries(SPELLINGS))
      expect(count(spelling), name).toBeGreaterThanOrEqual(5);
  });

  test('an allow list does not allow a forbidden address', () => {
    const allowAll = createAddressValidation({ allow: ['0.0.0.0/0', '::/0'], deny: [] });
    for (const [reason, hosts] of Object.entries(FORBIDDEN)) {
      for (const host of hosts) expect([host, allowAll(parseHost(host))]).toEqual([host, reason]);
    }
  });

  test('a zone does not hide a link-local address', () => {
    expect(validate('fe80::1%eth0')).toBe('link-local');
  });

  test('a text that is not an address is not reached', () => {
    for (const text of ['', 'localhost', '127.1', '1.2.3.4.5', 'fe80:::1', '0x7f.0.0.1']) {
      expect(validate(text), text).toBe('not an address');
    }
  });
});

describe('addresses that agents have', () => {
  test('private, loopback and public addresses are allowed', () => {
    for (const host of ALLOWED) expect(validate(parseHost(host)), host).toBeNull();
  });

  test('a denied network is refused in every spelling', () => {
    const validate = createAddressValidation({ allow: [], deny: ['127.0.0.0/8', '::1', 'fd00::/8'] });
    const forms = ['127.0.0.1', '127.255.0.9', '::1', '::ffff:127.0.0.1', '::ffff:7f00:1', '64:ff9b::7f00:1'];
    for (const form of [...forms, '2002:7f00:1::', '::127.0.0.1', 'fd12::1']) {
      expect(validate(form), form).toBe('denied by setting');
    }
    expect(validate('128.0.0.1')).toBeNull();
    expect(validate('::2:0')).toBe('unspecified');
    expect(validate('2001:db8::1')).toBeNull();
  });

  test('an allow list forbids every address outside it, and a deny list is checked before it', () => {
    const validate = createAddressValidation({ allow: ['10.0.0.0/8', 'fd00::/8'], deny: ['10.9.0.0/16'] });
    expect(validate('10.1.2.3')).toBeNull();
    expect(validate('::ffff:10.1.2.3')).toBeNull();
    expect(validate('fd00::5')).toBeNull();
    expect(validate('10.9.0.1')).toBe('denied by setting');
    expect(validate('192.168.1.1')).toBe('not allowed by setting');
    expect(validate('::1')).toBe('not allowed by setting');
    // An IPv4 network in the list does not allow the IPv6 addresses that lead to it.
    expect(validate('64:ff9b::10.1.2.3')).toBe('not allowed by setting');
  });

  test('a list that cannot be parsed is refused when the validation is created', () => {
    expect(() => createAddressValidation({ allow: ['10.0.0.0/33'], deny: [] })).toThrow(
      '10.0.0.0/33 is not a network',
    );
    expect(() => createAddressValidation({ allow: [], deny: ['agents.local'] })).toThrow(
      'agents.local is not a network',
    );
  });
});

describe('parsing networks', () => {
  test('an address or a network is parsed', () => {
    expect(parseNetwork('10.0.0.0/8')).toEqual({ address: '10.0.0.0', prefixBits: 8, family: 'ipv4' });
    expect(parseNetwork('10.1.2.3')).toEqual({ address: '10.1.2.3', prefixBits: 32, family: 'ipv4' });
    expect(parseNetwork('fd00::/8')).toEqual({ address: 'fd00::', prefixBits: 8, family: 'ipv6' });
    expect(parseNetwork('::1')).toEqual({ address: '::1', prefixBits: 128, family: 'ipv6' });
    expect(parseNetwork('0.0.0.0/0')?.prefixBits).toBe(0);
  });

  test('any other text is not parsed', () => {
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

  test('a mapped address is unmapped to its IPv4 address', () => {
    expect(unmapAddress('::ffff:10.0.0.1')).toBe('10.0.0.1');
    expect(unmapAddress('0:0:0:0:0:FFFF:0A00:0001')).toBe('10.0.0.1');
    expect(unmapAddress('::fffe:10.0.0.1')).toBe('::fffe:10.0.0.1');
    expect(unmapAddress('fe80::1%3')).toBe('fe80::1');
  });

  test('an IPv4 address is found in every form of IPv6 address that carries one', () => {
    expect(extractIpv4Addresses('64:ff9b::192.0.2.33')).toEqual(['192.0.2.33']);
    // The example of RFC 6052 for a prefix of 48 bits, with the prefix for local use.
    expect(extractIpv4Addresses('64:ff9b:1:c000:2:2100::')).toEqual(['192.0.2.33']);
    expect(extractIpv4Addresses('2002:c000:221::1')).toEqual(['192.0.2.33']);
    // RFC 4380: a server at 65.54.227.120, a client at 192.0.2.45.
    expect(extractIpv4Addresses('2001:0:4136:e378:8000:63bf:3fff:fdd2')).toEqual([
      '65.54.227.120',
      '192.0.2.45',
    ]);
    expect(extractIpv4Addresses('::192.0.2.33')).toEqual(['192.0.2.33']);
    expect(extractIpv4Addresses('fd00::5efe:192.0.2.33')).toEqual(['192.0.2.33']);
    for (const address of ['::1', '::', '2001:db8::1', 'fd00::1', '10.0.0.1']) {
      expect(extractIpv4Addresses(address), address).toEqual([]);
    }
  });
});
