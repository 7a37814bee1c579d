/**
 * The programs that some tests need and that `npm ci` does not bring: where each is, and how to install it. A
 * test names its tools as vitest's tags; `vitest.config.ts` skips it if one is missing. Nothing else looks
 * for a tool. `TOOLS=none` hides all of them, as on a fresh machine. Otherwise, if `CI` is set, each must be
 * there.
 */
import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, readdirSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { delimiter, join } from 'node:path';
import { describeLanguage, findLanguage, type LanguageName } from './language-tools.ts';
import { INSTALLED, VENV_PYTHON } from './python-tools.ts';
import { FOREIGN_PACKAGES, wereGeneratorsTried } from './tried-generators.ts';

type Tool = {
  /** Returns where it is, or what it says of itself; null if it is missing. */
  readonly find: () => string | null;
  /** What a person does to get it, if that is more than to install Debian's package. */
  readonly remedy?: string;
  /** The package of Debian that brings it. */
  readonly debianPackage?: string;
  /** Whether a machine may forbid it, even where `CI` is set. */
  readonly mayBeForbidden?: true;
  /** Whether the tests with it must run where `CI` is set. Default: they must. */
  readonly isNeeded?: () => boolean;
};

/** Each architecture has a folder of shared libraries in one of these. */
const LIBRARY_ROOTS = ['/usr/lib', '/lib'];

/** libfaketime, and the allocator of the C library, which a Redis needs below libfaketime. */
export const CLOCK_LIBRARIES = {
  faketime: 'faketime/libfaketimeMT.so.1',
  allocator: 'libc_malloc_debug.so.0',
} as const;

/** The packages of other people's generators and validators; there only with the tool `generators`. */
export const FOREIGN_MODULES = join(FOREIGN_PACKAGES, 'node_modules');

/** Describes a command under one of its names, and Debian's package of it. */
const debian = (debianPackage: string, commands: readonly string[] = [debianPackage]): Tool => ({
  find: () => findCommands(commands)[0] ?? null,
  debianPackage,
});
/** Shows that a command works, by a harmless call that ends well. */
const tried = (command: string, args: readonly string[]) => (): string | null =>
  spawnSync(command, args).status === 0 ? command : null;
/** What the generators of clients in one language need. */
const language = (name: LanguageName): Tool => ({
  find: () => findLanguage(name),
  remedy: describeLanguage(name),
  mayBeForbidden: true,
});

const TOOLS = {
  git: debian('git'),
  curl: debian('curl'),
  ps: debian('procps', ['ps']),
  python: debian('python3'),
  redis: debian('redis-server', ['redis-server', 'valkey-server']),
  chromium: debian('chromium', ['chromium', 'chromium-browser', 'google-chrome']),
  nginx: debian('nginx'),
  caddy: debian('caddy'),
  tmux: debian('tmux'),
  zsh: debian('zsh'),
  fish: debian('fish'),
  'systemd-analyze': debian('systemd', ['systemd-analyze']),
  prometheus: { find: findPrometheus, debianPackage: 'prometheus' },
  faketime: { find: findClockLibraries, debianPackage: 'faketime' },
  strace: {
    find: tried('strace', ['-f', '-e', 'trace=none', 'true']),
    debianPackage: 'strace',
    remedy: 'apt-get install strace, where a process may be traced',
  },
  'python-tools': {
    find: () =>
      existsSync(INSTALLED)
        ? tried(VENV_PYTHON, ['-c', 'import httpx, mypy, pyright, schemathesis'])()
        : null,
    remedy: 'node test/sdk/install-python.ts, with a Python 3.10 or newer and its package index',
    mayBeForbidden: true,
  },
  generators: {
    find: () => (existsSync(join(FOREIGN_MODULES, '.package-lock.json')) ? FOREIGN_MODULES : null),
    remedy: 'npm ci --ignore-scripts in test/contract/generators',
    isNeeded: () => !wereGeneratorsTried(),
  },
  'python-clients': language('python'),
  'java-clients': language('java'),
  'go-clients': language('go'),
  'rust-clients': language('rust'),
  mount: {
    find: tried('unshare', ['-m', 'mount', '--bind', '/etc/hosts', '/etc/resolv.conf']),
    remedy: 'root, who may mount',
    mayBeForbidden: true,
  },
  'loop-device': {
    find: tried('sh', ['-c', 'losetup --find && command -v mkfs.ext4']),
    remedy: 'root with /dev/loop-control, and apt-get install e2fsprogs',
    mayBeForbidden: true,
  },
  'second-address': {
    find: findSecondAddress,
    remedy: 'an IPv4 address beside 127.0.0.1',
    mayBeForbidden: true,
  },
} as const satisfies Readonly<Record<string, Tool>>;

export type ToolName = keyof typeof TOOLS;

declare module 'vitest' {
  interface TestTags {
    readonly tags: ToolName;
  }
}

/** Names in the order in which they are printed. */
export const TOOL_NAMES = Object.keys(TOOLS) as readonly ToolName[];

const toolOf = (name: ToolName): Tool => TOOLS[name];

const found = new Map<ToolName, string | null>();

/** Returns where the tool is, which is looked for once; null if it is missing or hidden. */
export function findTool(name: ToolName): string | null {
  if (areToolsHidden()) return null;
  const known = found.get(name);
  if (known !== undefined) return known;
  const place = toolOf(name).find();
  found.set(name, place);
  return place;
}

/** Returns the remedy if a test with this tag is skipped; null if it runs. */
export function findRemedy(name: ToolName): string | null {
  return findTool(name) === null ? describeRemedy(name) : null;
}

/** Returns the packages of Debian that would bring what is missing. */
export function listMissingPackages(): readonly string[] {
  return TOOL_NAMES.flatMap((name) => (findTool(name) === null ? (toolOf(name).debianPackage ?? []) : []));
}

/** Returns the paths of those commands that are installed; none while tools are hidden. */
export function findCommands(commands: readonly string[]): readonly string[] {
  if (areToolsHidden()) return [];
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  return commands.flatMap(
    (command) => folders.map((folder) => join(folder, command)).find(isExecutable) ?? [],
  );
}

/** Finds a shared library by its name in the folders of this machine's architecture. */
export function findLibrary(name: string): string | null {
  if (areToolsHidden()) return null;
  for (const root of LIBRARY_ROOTS.filter((folder) => existsSync(folder))) {
    const folders = readdirSync(root).filter((folder) => folder.endsWith('-linux-gnu'));
    const place = folders.map((folder) => join(root, folder, name)).find((path) => existsSync(path));
    if (place !== undefined) return place;
  }
  return null;
}

/** Whether its tests may be skipped in CI: a machine may forbid it, or nothing changed since it was tried. */
export function mayBeMissing(name: ToolName): boolean {
  const { mayBeForbidden = false, isNeeded } = toolOf(name);
  return mayBeForbidden || isNeeded?.() === false;
}

/** Ends the process, with the remedies, if `CI` is set and a tool is missing: CI runs every test. */
export function demandToolsInCi(): void {
  if (!process.env.CI || areToolsHidden()) return;
  const missing = TOOL_NAMES.filter((name) => !mayBeMissing(name) && findTool(name) === null);
  if (missing.length === 0) return;
  const remedies = missing.map((name) => `${name} (${describeRemedy(name)})`);
  console.error(
    `CI is set, so all tests must be run, and this machine lacks ${remedies.join(', ')}. ` +
      'Install them, or set TOOLS=none to run what needs no tool.',
  );
  process.exit(1);
}

function describeRemedy(name: ToolName): string {
  const { remedy, debianPackage } = toolOf(name);
  return remedy ?? `apt-get install ${debianPackage}`;
}

/** Whether `TOOLS=none` is set, which also wins over `CI`. */
function areToolsHidden(): boolean {
  const given = process.env.TOOLS ?? '';
  if (given !== '' && given !== 'none') throw new Error(`TOOLS is "${given}" and can only be "none".`);
  return given === 'none';
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Debian's package brings both. */
function findPrometheus(): string | null {
  return findCommands(['prometheus', 'promtool']).length === 2 ? 'prometheus' : null;
}

function findClockLibraries(): string | null {
  const places = Object.values(CLOCK_LIBRARIES).map(findLibrary);
  return places.includes(null) ? null : places.join(' ');
}

/** Returns an address of this machine that is not loopback, as another machine's would be. */
function findSecondAddress(): string | null {
  const all = Object.values(networkInterfaces()).flat();
  return all.find((info) => info?.family === 'IPv4' && !info.internal)?.address ?? null;
}
