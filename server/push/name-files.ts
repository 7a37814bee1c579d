/**
 * The two files by which a system is configured to resolve names: `/etc/hosts` and `/etc/resolv.conf`. Each
 * is read again when it has changed. If a file is missing or cannot be read, it counts as empty.
 */
import { readFile, stat } from 'node:fs/promises';
import { isIP } from 'node:net';

/** Addresses by lower-case name. */
export type Hosts = ReadonlyMap<string, readonly string[]>;

export type ResolverSettings = {
  /** Domains under which a short name is looked up. */
  readonly search: readonly string[];
  /** A name with this many dots is looked up as it is first. */
  readonly dots: number;
};

/** A file as it was parsed last, read again when its time of change is another. */
export type ParsedFile<T> = { read(): Promise<T> };

/** Whether a file changed is looked at no more often than this. */
const LOOK_EVERY_MS = 1_000;

/** Creates the reader of one file. Callers at the same moment share one look. */
export function createParsedFile<T>(
  path: string,
  parse: (text: string) => T,
  clock: { monotonicMs(): number },
): ParsedFile<T> {
  let changed = '';
  let lookedMs = Number.NEGATIVE_INFINITY;
  let parsed: Promise<T> = Promise.resolve(parse(''));

  async function readAgain(before: Promise<T>): Promise<T> {
    const found = await stat(path).catch(() => null);
    const now = found ? `${found.mtimeMs} ${found.size} ${found.ino}` : '';
    if (now === changed) return await before;
    changed = now;
    return parse(await readFile(path, 'utf8').catch(() => ''));
  }

  return {
    read() {
      if (clock.monotonicMs() - lookedMs >= LOOK_EVERY_MS) {
        lookedMs = clock.monotonicMs();
        parsed = readAgain(parsed);
      }
      return parsed;
    },
  };
}

/** Parses `/etc/hosts`: an address and its names in each row. */
export function parseHosts(text: string): Hosts {
  const hosts = new Map<string, string[]>();
  for (const [address = '', ...names] of parseRows(text)) {
    if (isIP(address) === 0) continue;
    for (const name of names) {
      const addresses = hosts.get(name.toLowerCase()) ?? [];
      hosts.set(name.toLowerCase(), [...addresses, address]);
    }
  }
  return hosts;
}

/** Parses what `/etc/resolv.conf` says of short names; the servers are read by Node. */
export function parseResolverSettings(text: string): ResolverSettings {
  let search: readonly string[] = [];
  let dots = 1;
  for (const [key, ...values] of parseRows(text)) {
    if (key === 'search' || key === 'domain') search = values.map((value) => value.replace(/\.$/, ''));
    if (key !== 'options') continue;
    for (const value of values) dots = Number(/^ndots:(\d{1,2})$/.exec(value)?.[1] ?? dots);
  }
  return { search: search.filter((domain) => domain !== ''), dots };
}

/** The names to look up for a host, in order, as the system's own resolver does. */
export function listFullNames(hostname: string, { search, dots }: ResolverSettings): readonly string[] {
  if (hostname.endsWith('.')) return [hostname.slice(0, -1)];
  const under = search.map((domain) => `${hostname}.${domain}`);
  return hostname.split('.').length - 1 >= dots ? [hostname, ...under] : [...under, hostname];
}

function parseRows(text: string): readonly (readonly string[])[] {
  return text
    .split('\n')
    .map((row) => row.replace(/[#;].*$/, '').trim())
    .filter((row) => row !== '')
    .map((row) => row.split(/\s+/));
}
