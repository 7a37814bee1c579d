/**
 * `node test/sdk/install-python.ts`: installs Schemathesis and what the package for Python needs, from the
 * index that pip uses: an environment with the tools, and wheels of what the package itself needs, for the
 * oldest and the newest Python that run here. Where that fails, its tests are skipped.
 */
import { spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findPythons, INSTALLED, PYTHON_TOOLS, VENV_PYTHON, WHEELS } from '../harness/python-tools.ts';

const REQUIREMENTS = join(import.meta.dirname, 'python/requirements.txt');
/** The oldest httpx that the package takes, and the one that it is developed with; and what builds it. */
const WHEELS_OF = {
  oldest: ['httpx==0.27.0', 'hatchling==1.33.0'],
  newest: ['httpx==0.28.1', 'hatchling==1.33.0'],
};

const pythons = findPythons();
const [oldest, newest] = [pythons[0], pythons.at(-1)];
if (!oldest || !newest) {
  console.error('No Python 3.10 or newer runs here, with its modules venv, ensurepip, sqlite3 and ssl.');
  process.exit(1);
}
rmSync(PYTHON_TOOLS, { recursive: true, force: true });
run(newest.command, ['-m', 'venv', join(PYTHON_TOOLS, 'venv')]);
run(VENV_PYTHON, ['-m', 'pip', 'install', '--quiet', '--requirement', REQUIREMENTS]);
for (const [{ command }, names] of [[oldest, WHEELS_OF.oldest] as const, [newest, WHEELS_OF.newest] as const])
  run(command, ['-m', 'pip', 'download', '--quiet', '--dest', WHEELS, ...names]);
// At its first start it fetches its program.
run(VENV_PYTHON, ['-m', 'pyright', '--version']);
writeFileSync(INSTALLED, `${oldest.command}\n${newest.command}\n`);
console.log(`Python 3.${oldest.minor} and 3.${newest.minor}: the tools are in ${PYTHON_TOOLS}.`);

function run(command: string, args: readonly string[]): void {
  const { status } = spawnSync(command, args, { stdio: 'inherit' });
  if (status !== 0) process.exit(1);
}
