/*
 * The second half of the server's build, after the compiler: copies the files that the compiler leaves out,
 * such as Lua scripts and the console. `dist/` has the folders of the repository (`dist/server`,
 * `dist/generated`), so that files find each other as they do there.
 */
import { cpSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const SERVER = dirname(fileURLToPath(import.meta.url));
const COPIED = [
  ...['server/node-version.js', 'server/process-setup.js', 'server/engines/redis/scripts'],
  ...['generated/console', 'generated/docs'],
];

rmSync(join(SERVER, 'dist/generated'), { recursive: true, force: true });
for (const path of COPIED) cpSync(join(SERVER, '..', path), join(SERVER, 'dist', path), { recursive: true });
