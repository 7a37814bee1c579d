/**
 * Where the generators and validators of others are: packages that nothing here depends on, with a lock file
 * of their own in `generators/`. CI installs them beside its other steps; elsewhere they are there after `npm
 * ci --ignore-scripts` in that folder.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';

const folder = join(import.meta.dirname, 'generators');

/** The packages of the folder; only there if `checkForeignTools()`. */
export const FOREIGN_MODULES = join(folder, 'node_modules');

/** Whether the packages are installed. Where not, it says so, and throws in CI. */
export function checkForeignTools(what: string): boolean {
  if (existsSync(join(FOREIGN_MODULES, '.package-lock.json'))) return true;
  const remedy = 'run "npm ci --ignore-scripts" in test/contract/generators';
  if (process.env.CI) throw new Error(`${what} are not installed: ${remedy}.`);
  console.warn(`!!! NOT TRIED: ${what}, which are not installed (${remedy}).`);
  return false;
}
