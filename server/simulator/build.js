/*
 * Builds the package: the bundle, its licences, and the types of its public files, which need no others.
 */
import { spawnSync } from 'node:child_process';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const FOLDER = fileURLToPath(new URL('.', import.meta.url));
const DIST = join(FOLDER, 'dist');
/** The files whose types are packed. They import types of each other alone, and those of the document. */
const PUBLIC = ['index', 'simulator', 'agent-script', 'fault', 'moving-time', 'document'];

const vite = join(FOLDER, '../../node_modules/.bin/vite');
const options = ['build', '--config', 'bundle.vite.ts', '--configLoader', 'native', '--logLevel', 'warn'];
const built = spawnSync(process.execPath, [vite, ...options, '--outDir', DIST, '--emptyOutDir'], {
  cwd: FOLDER,
  stdio: 'inherit',
});
if (built.status !== 0) process.exit(1);
for (const name of PUBLIC) {
  const { outputText } = ts.transpileDeclaration(readFileSync(join(FOLDER, `${name}.ts`), 'utf8'), {
    fileName: `${name}.ts`,
    compilerOptions: { module: ts.ModuleKind.NodeNext, verbatimModuleSyntax: true },
  });
  const own = outputText
    .replaceAll(/(from '\.\/[\w-]+)\.ts'/g, "$1.js'")
    .replaceAll("'@task-gateway/contract/simulator'", "'./contract.js'");
  writeFileSync(join(DIST, `${name}.d.ts`), own);
}
copyFileSync(join(FOLDER, '../../generated/simulator.d.ts'), join(DIST, 'contract.d.ts'));
