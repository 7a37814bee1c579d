/**
 * Which addresses a push may go to. Private and loopback addresses are allowed, because agents run there. Two
 * kinds are always forbidden: addresses at which no agent can listen, and addresses that give credentials to
 * any caller inside the network. The socket connects to the validated address itself, so a host name that
 * resolves to another address later cannot bypass the rules.
 */
import { isIP } from 'node:net';
import { buildNetworkList, containsAddress, extractIpv4Addresses, unmapAddress } from '../net/networks.ts';

/** Returns why an address is forbidden, in a few words; null if a push may go there. */
export type ValidateAddress = (address: string) => string | null;

/** Networks that no setting can allow. The first match gives the reason. */
const FORBIDDEN: readonly { readonly reason: string; readonly networks: readonly string[] }[] = [
  {
    reason: 'cloud metadata',
    networks: [
      '169.254.169.254/32', // AWS, Google, Azure, Oracle, DigitalOcean, Hetzner, OpenStack and others
      '169.254.170.0/24', // AWS: credentials of containers
      '169.254.42.42/32', // Scaleway
      '169.254.0.23/32', // Tencent
      '100.100.100.200/32', // Alibaba
      '168.63.129.16/32', // Azure's platform address
      '192.0.0.192/32', // Oracle
      'fd00:ec2::/32', // AWS over IPv6
      'fd20:ce::254/128', // Google over IPv6
      'fd00:c1::a9fe:a9fe/128', // Oracle over IPv6
      'fd00:42::42/128', // Scaleway over IPv6
      'fe80::a9fe:a9fe/128', // OpenStack over IPv6
    ],
  },
  { reason: 'link-local', networks: ['169.254.0.0/16', 'fe80::/10'] },
  { reason: 'broadcast', networks: ['255.255.255.255/32'] },
  { reason: 'unspecified', networks: ['0.0.0.0/8', '::/128'] },
  { reason: 'multicast', networks: ['224.0.0.0/4', 'ff00::/8'] },
  { reason: 'reserved', networks: ['240.0.0.0/4'] },
];

const forbiddenLists = FORBIDDEN.map(({ reason, networks }) => ({
  reason,
  list: buildNetworkList(networks),
}));

/**
 * Creates the validation from two lists of addresses and networks. An IPv6 address that carries an IPv4
 * address is validated as both. `deny` is checked before `allow`. If `allow` is not empty, it forbids all
 * addresses outside it. Throws if an entry cannot be parsed.
 */
export function createAddressValidation(lists: {
  readonly allow: readonly string[];
  readonly deny: readonly string[];
}): ValidateAddress {
  const allow = lists.allow.length > 0 ? buildNetworkList(lists.allow) : null;
  const deny = buildNetworkList(lists.deny);
  return (text) => {
    const address = unmapAddress(text);
    if (isIP(address) === 0) return 'not an address';
    const forms = [address, ...extractIpv4Addresses(address)];
    for (const { reason, list } of forbiddenLists)
      if (forms.some((form) => containsAddress(list, form))) return reason;
    if (forms.some((form) => containsAddress(deny, form))) return 'denied by setting';
    return allow === null || containsAddress(allow, address) ? null : 'not allowed by setting';
  };
}
