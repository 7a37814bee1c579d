/*
 * Preloaded by the npm scripts that need what `npm ci --omit=dev` leaves out: where some of it is not there,
 * prints in one sentence what is missing and what to run, and ends before the script fails to find it.
 */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = new URL('../', import.meta.url);
const { devDependencies } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'));
const [missing, ...others] = Object.keys(devDependencies).filter(
  (name) => !existsSync(new URL(`node_modules/${name}/package.json`, root)),
);
if (missing !== undefined) {
  const { npm_lifecycle_event: script } = process.env;
  const more = others.length === 0 ? '' : ` and ${others.length} more`;
  console.error(
    `${script === undefined ? 'This' : `npm run ${script}`} needs packages for developers that are not installed ` +
      `(${missing}${more}): run "npm ci", without --omit=dev, in ${fileURLToPath(root)}`,
  );
  process.exit(1);
}
