/*
 * What `npm ci` does last in a checkout: it builds the SDK, so that `npx task-gateway` and programs that
 * import the SDK run as they do where it is installed. A server does not need it: without the compiler, which
 * `npm ci --omit=dev` leaves out, nothing is built.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('.', import.meta.url));
const compiler = fileURLToPath(new URL('../node_modules/typescript/bin/tsc', import.meta.url));
if (existsSync(compiler)) {
  const npm = process.env.npm_execpath ?? '';
  const { status } = spawnSync(process.execPath, [npm, 'run', '--silent', 'build'], {
    cwd: folder,
    stdio: 'inherit',
  });
  process.exitCode = status ?? 1;
}
