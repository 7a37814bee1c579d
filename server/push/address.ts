/**
 * Which addresses a push may go to. Private and loopback addresses are allowed, for agents live there; what no agent
 * can be, or what hands credentials to whoever asks from inside, never is, and no setting changes that.
 * The address judged is the one that is really connected to, so a name that resolves anew cannot get around it.
 */
import { isIP } from 'node:net';
import { embeddedAddresses, holds, listNetworks, unmapAddress } from './networks.ts';

/** Says why an address is forbidden, in a few words; null when a push may go there. */
export type AddressJudge = (address: string) => string | null;

/** Never reached, the first reason that fits is told. No allow list lifts these. */
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

const forbiddenLists = FORBIDDEN.map(({ reason, networks }) => ({ reason, list: listNetworks(networks) }));

/**
 * Creates the judge. An address must pass in each form it can be read in. `deny` goes before `allow`; an `allow` list
 * that is not empty admits nothing outside it. Throws when a network cannot be read.
 */
export function createAddressJudge(lists: {
  readonly allow: readonly string[];
  readonly deny: readonly string[];
}): AddressJudge {
  const allow = lists.allow.length > 0 ? listNetworks(lists.allow) : null;
  const deny = listNetworks(lists.deny);
  return (text) => {
    const address = unmapAddress(text);
    if (isIP(address) === 0) return 'not an address';
    const forms = [address, ...embeddedAddresses(address)];
    for (const { reason, list } of forbiddenLists) if (forms.some((form) => holds(list, form))) return reason;
    if (forms.some((form) => holds(deny, form))) return 'denied by setting';
    return allow === null || holds(allow, address) ? null : 'not allowed by setting';
  };
}
