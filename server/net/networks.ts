/**
 * Networks and addresses as text, for validating the addresses of agents and reading those of callers. Pure.
 * The functions parse the value of a setting, and extract the IPv4 addresses that an IPv6 address carries.
 */
import { BlockList, isIP } from 'node:net';

/** An address, or a network of them. */
export type Network = {
  readonly address: string;
  /** How many leading bits count: 0 to 32 (IPv4) or 0 to 128 (IPv6). */
  readonly prefixBits: number;
  readonly family: 'ipv4' | 'ipv6';
};

/** Parses `10.0.0.0/8`, `10.1.2.3`, `fd00::/8` or `::1`; returns undefined for any other text. */
export function parseNetwork(text: string): Network | undefined {
  const [address = '', bits, ...rest] = text.split('/');
  const family = isIP(address);
  if (family === 0 || rest.length > 0 || address.includes('%')) return undefined;
  // Mapped addresses are compared as IPv4, so a mapped network would never match.
  if (unmapAddress(address) !== address) return undefined;
  const widthBits = family === 4 ? 32 : 128;
  if (bits !== undefined && !/^(0|[1-9]\d{0,2})$/.test(bits)) return undefined;
  const prefixBits = bits === undefined ? widthBits : Number(bits);
  return prefixBits <= widthBits
    ? { address, prefixBits, family: family === 4 ? 'ipv4' : 'ipv6' }
    : undefined;
}

/** Builds a list of networks for `containsAddress`. Throws when an entry cannot be parsed. */
export function buildNetworkList(texts: readonly string[]): BlockList {
  const list = new BlockList();
  for (const text of texts) {
    const network = parseNetwork(text);
    if (!network) {
      throw new Error(`${text} is not a network: write an address or a network such as 10.0.0.0/8`);
    }
    list.addSubnet(network.address, network.prefixBits, network.family);
  }
  return list;
}

export function containsAddress(list: BlockList, address: string): boolean {
  return list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
}

const LOOPBACK = buildNetworkList(['127.0.0.0/8', '::1']);

/** Whether a name or an address means this machine alone. */
export function isLoopback(host: string): boolean {
  return isIP(host) === 0 ? host.toLowerCase() === 'localhost' : containsAddress(LOOPBACK, host);
}

/** Removes the zone of an address, and writes a mapped address (`::ffff:10.0.0.1`) as plain IPv4. */
export function unmapAddress(text: string): string {
  const address = text.split('%')[0] ?? '';
  if (isIP(address) !== 6) return address;
  const groups = parseGroups(address);
  const mapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  return mapped ? formatIpv4(groups[6], groups[7]) : address;
}

/**
 * Returns the IPv4 addresses that a packet to this IPv6 address can reach: by NAT64, 6to4, Teredo or ISATAP,
 * or because the address is IPv4-compatible or IPv4-translated. Any other address gives an empty list.
 */
export function extractIpv4Addresses(address: string): readonly string[] {
  if (isIP(address) !== 6) return [];
  const groups = parseGroups(address);
  const [a, b, c, d, e, f, g, h] = groups;
  const tail = formatIpv4(g, h);
  const leadingZeros = groups.findIndex((group) => group !== 0);
  const found: string[] = [];
  if (leadingZeros === 6) found.push(tail);
  if (leadingZeros === 4 && e === 0xffff && f === 0) found.push(tail);
  if (a === 0x64 && b === 0xff9b && c === 0) found.push(tail);
  if (a === 0x64 && b === 0xff9b && c === 1) {
    // The local NAT64 prefix is 96 or 48 bits long. With 48 bits the IPv4 address skips bits 64 to 71.
    const low = (((e ?? 0) & 0xff) << 8) | ((f ?? 0) >> 8);
    found.push(d === 0 && e === 0 && f === 0 ? tail : formatIpv4(d, low));
  }
  if (a === 0x2002) found.push(formatIpv4(b, c));
  if (a === 0x2001 && b === 0) found.push(formatIpv4(c, d), formatIpv4(~(g ?? 0), ~(h ?? 0)));
  if (f === 0x5efe && (e === 0 || e === 0x200)) found.push(tail);
  return found;
}

/** The first 64 bits of an IPv6 address that `isIP` accepts, as four groups. */
export function formatNetwork64(address: string): string {
  return parseGroups(address)
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':');
}

/** The eight groups of an IPv6 address that `isIP` accepts. */
function parseGroups(address: string): readonly number[] {
  const hex = address.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_all, a, b, c, d) =>
    [Number(a) * 256 + Number(b), Number(c) * 256 + Number(d)].map((group) => group.toString(16)).join(':'),
  );
  const [head = '', tail] = hex.split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = new Array<string>(8 - left.length - right.length).fill('0');
  return [...left, ...zeros, ...right].map((group) => Number.parseInt(group, 16));
}

function formatIpv4(high = 0, low = 0): string {
  return [(high >> 8) & 0xff, high & 0xff, (low >> 8) & 0xff, low & 0xff].join('.');
}
