/**
 * The last step of `npm ci` in a checkout: it builds the SDK, so that `npx task-gateway` and programs that
 * import the SDK run as they do where it is installed. With the compiler the build is what is published. `npm
 * ci --omit=dev` leaves the compiler out: then Node itself strips the types from the sources, which makes the
 * same programs, without declarations and without the copies that only Jest needs. Node runs the simulator's
 * sources as they are, because they are the gateway's own: that package only gets an entry that leads to
 * them.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const SDK = fileURLToPath(new URL('.', import.meta.url));
const DIST = join(SDK, 'dist');
/** Folders without sources of the SDK. */
const OTHER = /^(dist|examples|node_modules)\//;
const compiler = join(SDK, '../node_modules/typescript/bin/tsc');

if (existsSync(compiler)) compile();
// An older Node cannot strip types. The command then says what is missing, and a server needs no build.
else if ('stripTypeScriptTypes' in nodeModule) stripSources();
linkSimulator();

function linkSimulator() {
  const dist = join(SDK, '../server/simulator/dist');
  mkdirSync(dist, { recursive: true });
  for (const entry of ['index.js', 'index.d.ts'])
    writeFileSync(join(dist, entry), "export * from '../index.ts';\n");
}

function compile() {
  const npm = process.env.npm_execpath ?? '';
  const { status } = spawnSync(process.execPath, [npm, 'run', '--silent', 'build'], {
    cwd: SDK,
    stdio: 'inherit',
  });
  process.exitCode = status ?? 1;
}

function stripSources() {
  // Node warns that the function is experimental; nobody who reads npm's output can change that.
  process.removeAllListeners('warning');
  rmSync(DIST, { recursive: true, force: true });
  const files = readdirSync(SDK, { recursive: true, encoding: 'utf8' });
  for (const file of files.filter((one) => one.endsWith('.ts') && !OTHER.test(one))) {
    const program = join(DIST, file.replace(/\.ts$/, '.js'));
    mkdirSync(dirname(program), { recursive: true });
    const stripped = nodeModule.stripTypeScriptTypes(readFileSync(join(SDK, file), 'utf8'));
    // The files that it imports have new names too.
    writeFileSync(program, stripped.replace(/\b((?:from|import)\s*\(?\s*'\.[^']+)\.ts'/g, "$1.js'"));
  }
}
