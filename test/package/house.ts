/**
 * `npm run house [FOLDER]`: the size of a checkout of this repository (this one by default), as two tables in
 * Markdown: each folder with code, then the whole. It fails nothing; the tests beside it do.
 */
import { dirname } from 'node:path';
import { refuseOptions } from '../harness/script-options.ts';
import { countExecuted } from './house-executed.ts';
import { openRepository } from './repository.ts';
import { countLines, measureFunctions } from './size-law.ts';

const [root, ...others] = process.argv.slice(2);
const unknown = [...(root?.startsWith('-') ? [root] : []), ...others][0];
if (unknown !== undefined)
  refuseOptions('npm run house', `Unknown option '${unknown}'`, 'It takes: npm run house [FOLDER]');
const { files, sources, read } = openRepository(root);

printRow('folder', 'files', 'lines', 'longest function');
printRow('---', '---:', '---:', '---:');
for (const folder of [...new Set(sources.map((file) => dirname(file)))].sort()) {
  const own = sources.filter((file) => dirname(file) === folder);
  const lengths = own.flatMap((file) => measureFunctions(file, read(file)).map(({ lines }) => lines));
  printRow(folder, own.length, sumLines(own), Math.max(0, ...lengths));
}
console.log('');
printRow('the whole', '');
printRow('---', '---:');
printRow('files', sources.length);
printRow('lines', sumLines(sources));
const scripts = files.filter((file) => file.endsWith('.lua'));
const server = sources.filter((file) => /^server\/(?!console\/)/.test(file));
printRow('server without its console, lines', sumLines([...server, ...scripts]));
for (const folder of ['sdk', 'test'])
  printRow(`${folder}, lines`, sumLines(sources.filter((file) => file.startsWith(`${folder}/`))));
// Those of another checkout are not imported.
if (root === undefined) printRow('files that a submission executes', await countExecuted());

function sumLines(paths: readonly string[]): number {
  return paths.reduce((sum, path) => sum + countLines(read(path)), 0);
}

function printRow(...cells: readonly (string | number)[]): void {
  console.log(`| ${cells.join(' | ')} |`);
}
