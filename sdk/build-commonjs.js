/**
 * Makes the entries for CommonJS programs, beside the compiled ones. Node itself loads the ES modules also
 * for `require` (the condition `module-sync`), so that an error is `instanceof` the same class however the
 * SDK was loaded. The copies made here are for tools that can only read CommonJS, such as Jest. The types are
 * copied too, because TypeScript (`node16`) takes a declaration for CommonJS only in a folder that says so.
 */
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const [unknown] = process.argv.slice(2);
if (unknown !== undefined) {
  console.error(`npm run build: Unknown option '${unknown}'. It takes no options.`);
  process.exit(1);
}

const DIST = fileURLToPath(new URL('dist/', import.meta.url));
const COMMONJS = join(DIST, 'commonjs');
const COPIED = /\.d\.ts(\.map)?$/;

rmSync(COMMONJS, { recursive: true, force: true });
const files = readdirSync(DIST, { recursive: true, encoding: 'utf8' });
for (const file of files.filter((one) => COPIED.test(one) && !one.startsWith('cli/'))) {
  const copy = join(COMMONJS, file);
  mkdirSync(dirname(copy), { recursive: true });
  cpSync(join(DIST, file), copy);
  if (!file.endsWith('.map')) continue;
  const map = JSON.parse(readFileSync(copy, 'utf8'));
  // The copy lies one folder deeper.
  const sources = map.sources.map((source) => `../${source}`);
  writeFileSync(copy, JSON.stringify({ ...map, sources }));
}
const compilerOptions = { module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2022 };
for (const file of files.filter((one) => one.endsWith('.js') && !one.startsWith('cli/'))) {
  const source = readFileSync(join(DIST, file), 'utf8')
    .replaceAll('import.meta.url', "require('node:url').pathToFileURL(__filename).href")
    .replace(/^\/\/# sourceMappingURL=.*$/m, '');
  writeFileSync(join(COMMONJS, file), ts.transpileModule(source, { compilerOptions }).outputText);
}
writeFileSync(join(COMMONJS, 'package.json'), '{ "type": "commonjs" }\n');
