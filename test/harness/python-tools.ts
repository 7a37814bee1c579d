/**
 * Where the tests of the package for Python find a Python, and what they install into it. `findPythons`
 * starts each candidate, because a name may do nothing or be too old. `test/sdk/install-python.ts` installs
 * everything, once.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, globSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');
export const PYTHON_PACKAGE = join(ROOT, 'sdk/python');
/** The folder of what is installed: wheels, and an environment of the newest Python with all tools. */
export const PYTHON_TOOLS = join(ROOT, 'node_modules/.python');
export const WHEELS = join(PYTHON_TOOLS, 'wheels');
/** Written last: if it is there, everything is. */
export const INSTALLED = join(PYTHON_TOOLS, 'installed.txt');
export const VENV_PYTHON = join(PYTHON_TOOLS, 'venv/bin/python');

/** The environment in which a program that says `python3` gets that Python, with the package. */
export const PYTHON_ENV = {
  PATH: `${join(PYTHON_TOOLS, 'venv/bin')}${delimiter}${process.env.PATH}`,
  PYTHONPATH: PYTHON_PACKAGE,
  PYTHONDONTWRITEBYTECODE: '1',
} as const;

/** The oldest minor version of Python 3 that the package takes. */
const MINOR_MIN = 10;
const VERSION = 'import sys, venv, ensurepip, sqlite3, ssl; print("%d.%d" % sys.version_info[:2])';

type Python = { readonly command: string; readonly minor: number };

/** Returns the Pythons that run here and are new enough, the oldest first, one of each version. */
export function findPythons(): readonly Python[] {
  const folders = (process.env.PATH ?? '').split(delimiter);
  const names = ['python3', 'python3.10', 'python3.11', 'python3.12', 'python3.13', 'python3.14'];
  const commands = [
    ...names.flatMap((name) =>
      folders.map((folder) => join(folder, name)).filter((path) => existsSync(path)),
    ),
    ...globSync(join(homedir(), '.pyenv/versions/*/bin/python3')),
  ];
  const found = new Map<number, Python>();
  for (const command of new Set(commands)) {
    const { stdout } = spawnSync(command, ['-c', VERSION], { encoding: 'utf8' });
    const minor = Number(/^3\.(\d+)\n$/.exec(stdout ?? '')?.[1]);
    if (minor >= MINOR_MIN && !found.has(minor)) found.set(minor, { command, minor });
  }
  return [...found.values()].sort((a, b) => a.minor - b.minor);
}
