/**
 * What the generators of clients in other languages need: a toolchain, and packages that
 * `test/contract/try-generators.ts` installs, as their pins say. Where a toolchain is missing, too old or has
 * no registry, nothing is installed, and its tests are skipped.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findPythons } from './python-tools.ts';
import { FOREIGN_PACKAGES } from './tried-generators.ts';

/** What is installed, a folder for each language. */
export const LANGUAGE_TOOLS = join(FOREIGN_PACKAGES, '../../../node_modules/.languages');
/** Whoever has an older Go gets a skip, not another Go. */
export const LANGUAGE_ENV = { ...process.env, GOTOOLCHAIN: 'local', GOFLAGS: '-mod=readonly' };

type Language = {
  readonly toolchain: string;
  /** Below the folder of the generators: the file that fixes all versions. */
  readonly pins: string;
  /** Commands that install into a folder; they run beside the pins. */
  install(folder: string): readonly (readonly string[])[];
};

const LANGUAGES = {
  python: {
    toolchain: 'Python 3.10 or newer',
    pins: 'openapi-python-client/requirements.txt',
    install: (folder) => [
      [findPythons().at(-1)?.command ?? 'python3', '-m', 'venv', folder],
      [join(folder, 'bin/pip'), 'install', '--quiet', '--no-deps', '--requirement', 'requirements.txt'],
    ],
  },
  java: {
    toolchain: 'a JDK 17 or newer, and Maven',
    pins: 'openapi-generator-java/pom.xml',
    install: (folder) => [
      ['javac', '--release', '17', '-version'],
      [
        ...['mvn', '--batch-mode', '--quiet'],
        ...['org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies'],
        `-DoutputDirectory=${folder}`,
      ],
    ],
  },
  go: {
    toolchain: 'Go 1.26 or newer',
    pins: 'oapi-codegen/go.sum',
    install: () => [
      ['go', 'mod', 'download'],
      ['go', 'tool', 'oapi-codegen', '-version'],
    ],
  },
  rust: {
    toolchain: 'Cargo 1.88 or newer',
    pins: 'progenitor/Cargo.lock',
    install: () => [['cargo', 'fetch', '--quiet', '--locked']],
  },
} as const satisfies Readonly<Record<string, Language>>;

export type LanguageName = keyof typeof LANGUAGES;

const NAMES = Object.keys(LANGUAGES) as readonly LanguageName[];
const markOf = (name: LanguageName): string => join(LANGUAGE_TOOLS, name, 'installed.txt');
const readPins = (name: LanguageName): string =>
  readFileSync(join(FOREIGN_PACKAGES, LANGUAGES[name].pins), 'utf8');

/** The folder of what is installed for a language by the pins as they are now; null where it is not. */
export function findLanguage(name: LanguageName): string | null {
  const mark = markOf(name);
  return existsSync(mark) && readFileSync(mark, 'utf8') === readPins(name) ? join(mark, '..') : null;
}

export const describeLanguage = (name: LanguageName): string =>
  `node test/contract/try-generators.ts --install, with ${LANGUAGES[name].toolchain} and its registry`;

/** Installs what is not there yet. Returns a sentence for each language for which that fails. */
export function installLanguages(): readonly string[] {
  return NAMES.filter((name) => findLanguage(name) === null && !install(name)).map(
    (name) => `For ${name} nothing is installed: it takes ${LANGUAGES[name].toolchain}, and its registry.`,
  );
}

function install(name: LanguageName): boolean {
  const language: Language = LANGUAGES[name];
  const folder = join(LANGUAGE_TOOLS, name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const cwd = join(FOREIGN_PACKAGES, language.pins, '..');
  for (const [command = '', ...args] of language.install(folder)) {
    const { status } = spawnSync(command, args, { cwd, env: LANGUAGE_ENV, stdio: 'inherit' });
    if (status !== 0) return false;
  }
  writeFileSync(markOf(name), readPins(name));
  return true;
}
