/**
 * The commit that is measured, and another one in a folder of its own, ready to start its gateway: what
 * `npm run bench -- --compare REVISION` alternates with.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');
/** Folders with packages that npm does not put at the top. */
const PACKAGE_FOLDERS = ['generated', 'sdk', 'server'];
/** The packages of the repository itself. */
const OWN = '@task-gateway';

/** The commit that is measured, and the day: "Commit 1a2b3c4d on 2026-01-31". */
export function describeCommit(): string {
  const commit = execFileSync('git', ['rev-parse', '--short=8', 'HEAD'], { cwd: ROOT, encoding: 'utf8' });
  return `Commit ${commit.trim()} on ${new Date().toISOString().slice(0, 10)}`;
}

/**
 * Writes the files of a revision (anything `git archive` takes) into the folder. Its packages are those of
 * this checkout when both lock files agree, else they are installed there. Throws when there is no such
 * revision.
 */
export function checkOut(revision: string, folder: string): void {
  mkdirSync(folder, { recursive: true });
  const archive = execFileSync('git', ['archive', revision], { cwd: ROOT, maxBuffer: 2 ** 30 });
  execFileSync('tar', ['-x', '-C', folder], { input: archive });
  const lock = (root: string): string => readFileSync(join(root, 'package-lock.json'), 'utf8');
  if (lock(folder) !== lock(ROOT)) {
    console.error(`Installing the packages of ${revision} …`);
    execFileSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    return;
  }
  const packages = join(ROOT, 'node_modules');
  mkdirSync(join(folder, 'node_modules', OWN), { recursive: true });
  for (const name of readdirSync(packages).filter((one) => one !== OWN)) {
    symlinkSync(join(packages, name), join(folder, 'node_modules', name));
  }
  // Relative links: the revision has its own contract, not that of this checkout.
  for (const name of readdirSync(join(packages, OWN))) {
    symlinkSync(readlinkSync(join(packages, OWN, name)), join(folder, 'node_modules', OWN, name));
  }
  for (const name of PACKAGE_FOLDERS) {
    const packages = join(ROOT, name, 'node_modules');
    if (existsSync(packages)) symlinkSync(packages, join(folder, name, 'node_modules'));
  }
}
