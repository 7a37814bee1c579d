/**
 * Resolves the host names of endpoints without the threads that Node shares with everything else: a name
 * whose server does not reply would hold one of the four for up to forty seconds.
 *
 *   /etc/hosts ── not there ─▶ DNS, by Node's client ── no such name ─▶ the system, two at a time
 *                                     ╰── no reply within 5 s ─▶ failed
 *
 * The system's resolver is asked last, for names that only it knows (multicast DNS, directory services); its
 * two threads are all that names can take. One lookup runs for a name, however many wait for it. Addresses
 * are used for 5 s, and a failure is repeated for 5 s without a lookup.
 *
 * Cost: one entry of about 200 bytes for each name, at most 10,000.
 */
import { type LookupAddress, lookup as lookUpInSystem, Resolver } from 'node:dns';
import { isIP } from 'node:net';
import { createBoundedMap } from '../async/bounded-map.ts';
import { waitAtMost } from '../async/waiting.ts';
import type { Clock } from '../ports/clock.ts';
import type { Resolve } from './connector.ts';
import { createParsedFile, listFullNames, parseHosts, parseResolverSettings } from './name-files.ts';

export type NameResolver = {
  readonly resolve: Resolve;
  /** Ends the lookups under way. */
  close(): void;
};

export type NameDeps = {
  readonly clock: Clock;
  readonly hostsFile?: string;
  readonly resolverFile?: string;
  /** When a name has no addresses by then, its lookup has failed; 5 s by default. */
  readonly withinMs?: number;
  /** DNS servers in place of the system's. */
  readonly servers?: readonly string[];
  /** Looks a name up by the system's resolver. */
  readonly askSystem?: (hostname: string) => Promise<readonly LookupAddress[]>;
};

/** Each query is sent twice, to each server, within this. */
const QUERY_TRIES = 2;
const QUERY_TIMEOUT_MS = 1_500;
const LOOKUP_WITHIN_MS = 5_000;
/**
 * When the addresses of one family are there (IPv4, for example), those of the other are awaited no longer
 * than this.
 */
const OTHER_FAMILY_WITHIN_MS = 100;
const KEEP_MS = 5_000;
const NAMES_MAX = 10_000;
/** Lookups by the system's resolver at once, of Node's four threads, and how many may wait for them. */
const SYSTEM_AT_ONCE = 2;
const SYSTEM_WAITING_MAX = 100;

/** The codes of DNS when a name does not exist or has no addresses, and when no server is configured. */
const ABSENT: ReadonlySet<string> = new Set(['ENOTFOUND', 'ENODATA', 'ECONNREFUSED']);

type Found = { readonly error: Error | null; readonly addresses: readonly LookupAddress[] };
type Entry = { readonly found: Promise<Found>; freshUntilMs: number };

/** Creates a resolver that knows no names yet. */
export function createNameResolver(deps: NameDeps): NameResolver {
  const { clock } = deps;
  const hosts = createParsedFile(deps.hostsFile ?? '/etc/hosts', parseHosts, clock);
  const dns = createDns(deps);
  const askSystem = limitAtOnce(deps.askSystem ?? lookUpBySystem);
  const entries = createBoundedMap<string, Entry>(NAMES_MAX);

  async function lookUp(hostname: string): Promise<Found> {
    const local = (await hosts.read()).get(hostname);
    if (local) return { error: null, addresses: local.map(describeAddress) };
    const found = await waitAtMost(clock, deps.withinMs ?? LOOKUP_WITHIN_MS, dns.lookUp(hostname));
    if (found === 'late') return failed('EAI_AGAIN');
    if (!found.error || readCode(found.error) !== 'ENOTFOUND') return found;
    return await askSystem(hostname);
  }

  return {
    resolve(hostname, done) {
      const name = hostname.toLowerCase();
      const nowMs = clock.monotonicMs();
      let entry = entries.get(name);
      if (!entry || entry.freshUntilMs <= nowMs) {
        const added: Entry = { found: lookUp(name), freshUntilMs: Number.POSITIVE_INFINITY };
        void added.found.then(() => {
          added.freshUntilMs = clock.monotonicMs() + KEEP_MS;
        });
        entries.set(name, added);
        entry = added;
      }
      void entry.found.then(({ error, addresses }) => done(error, addresses));
    },
    close: () => dns.close(),
  };
}

/** DNS by Node's client, which has no threads. The servers are read anew when the system's file changes. */
function createDns({ clock, resolverFile = '/etc/resolv.conf', servers }: NameDeps) {
  // That of now, and the one before: lookups under way may use it.
  let resolvers: readonly Resolver[] = [];
  const file = createParsedFile(
    resolverFile,
    (text) => {
      const resolver = new Resolver({ timeout: QUERY_TIMEOUT_MS, tries: QUERY_TRIES });
      if (servers) resolver.setServers(servers);
      resolvers = [resolver, ...resolvers.slice(0, 1)];
      return { resolver, settings: parseResolverSettings(text) };
    },
    clock,
  );
  return {
    async lookUp(hostname: string): Promise<Found> {
      const { resolver, settings } = await file.read();
      let found = failed('ENOTFOUND');
      for (const name of listFullNames(hostname, settings)) {
        found = await queryBoth(clock, resolver, name);
        if (!found.error || readCode(found.error) !== 'ENOTFOUND') break;
      }
      return found;
    },
    close() {
      for (const resolver of resolvers) resolver.cancel();
    },
  };
}

/** Addresses of both families, IPv4 first: a connection is tried to one after the other. */
async function queryBoth(clock: Clock, resolver: Resolver, name: string): Promise<Found> {
  const four = query((done) => resolver.resolve4(name, done));
  const six = query((done) => resolver.resolve6(name, done));
  const first = await Promise.race([four, six]);
  const both = Promise.all([four, six]);
  const awaited = first.error ? await both : await waitAtMost(clock, OTHER_FAMILY_WITHIN_MS, both);
  const found = awaited === 'late' ? [first] : awaited;
  const addresses = found.flatMap((one) => one.addresses);
  if (addresses.length > 0) return { error: null, addresses };
  return found.find(({ error }) => readCode(error) !== 'ENOTFOUND') ?? first;
}

type Done = (error: NodeJS.ErrnoException | null, addresses: readonly string[]) => void;

function query(send: (done: Done) => void): Promise<Found> {
  return new Promise((resolve) => {
    send((error, addresses) => {
      if (!error) resolve({ error: null, addresses: addresses.map(describeAddress) });
      else resolve(failed(ABSENT.has(error.code ?? '') ? 'ENOTFOUND' : 'EAI_AGAIN'));
    });
  });
}

async function lookUpBySystem(hostname: string): Promise<readonly LookupAddress[]> {
  return await new Promise((resolve, reject) => {
    lookUpInSystem(hostname, { all: true }, (error, addresses) =>
      error ? reject(error) : resolve(addresses),
    );
  });
}

/** Limits how many lookups run at once and how many wait; one more has failed. */
function limitAtOnce(ask: (hostname: string) => Promise<readonly LookupAddress[]>) {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (hostname: string): Promise<Found> => {
    if (running >= SYSTEM_AT_ONCE && waiting.length >= SYSTEM_WAITING_MAX) return failed('EAI_AGAIN');
    if (running >= SYSTEM_AT_ONCE) await new Promise<void>((resolve) => waiting.push(resolve));
    else running += 1;
    try {
      return { error: null, addresses: await ask(hostname) };
    } catch (error) {
      return failed(readCode(error) === 'EAI_AGAIN' ? 'EAI_AGAIN' : 'ENOTFOUND');
    } finally {
      const next = waiting.shift();
      if (next) next();
      else running -= 1;
    }
  };
}

function describeAddress(address: string): LookupAddress {
  return { address, family: isIP(address) };
}

function failed(code: 'ENOTFOUND' | 'EAI_AGAIN'): Found {
  return { error: Object.assign(new Error(code), { code }), addresses: [] };
}

function readCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
