/**
 * `npm run house [FOLDER]`: what the laws of this folder count, for each folder of a checkout of this
 * repository (this one by default) and for the whole, as two tables in Markdown. It fails nothing; the tests
 * beside it do.
 */
import { dirname } from 'node:path';
import { refuseOptions } from '../harness/script-options.ts';
import { findUnusedExports } from './export-use.ts';
import { measureExecuted } from './house-executed.ts';
import { measureWhole } from './house-whole.ts';
import { type Edge, findFolderCircles, listEdges } from './import-law.ts';
import { openRepository, type Repository } from './repository.ts';
import {
  COMMENT_COLUMNS_MAX,
  countLines,
  FUNCTION_LINES_MAX,
  findWideComments,
  measureFunctions,
} from './size-law.ts';

/** The figures of one folder's own files, without those of its subfolders. */
type Figures = {
  readonly files: number;
  readonly lines: number;
  /** Other folders that its files import from. */
  readonly arrows: number;
  readonly longestFunction: number;
  readonly longFunctions: number;
  readonly wideComments: number;
  readonly unusedExports: number;
};

const COLUMNS: readonly (readonly [title: string, key: keyof Figures])[] = [
  ['files', 'files'],
  ['lines', 'lines'],
  ['imports from folders', 'arrows'],
  ['longest function', 'longestFunction'],
  [`functions over ${FUNCTION_LINES_MAX} lines`, 'longFunctions'],
  [`comment lines over ${COMMENT_COLUMNS_MAX} columns`, 'wideComments'],
  ['exports no other file imports', 'unusedExports'],
];

const [root, ...others] = process.argv.slice(2);
const unknown = [...(root?.startsWith('-') ? [root] : []), ...others][0];
if (unknown !== undefined)
  refuseOptions('npm run house', `Unknown option '${unknown}'`, 'It takes: npm run house [FOLDER]');
const repository = openRepository(root);
const edges = listEdges(repository);
const unused = findUnusedExports(repository);
const folders = [...new Set(repository.sources.map((file) => dirname(file)))].sort();
const rows = folders.map((folder) => ({ folder, figures: measureFolder(folder) }));

console.log(formatRow(['folder', ...COLUMNS.map(([title]) => title)]));
console.log(formatRow(['---', ...COLUMNS.map(() => '---:')]));
for (const { folder, figures } of rows)
  console.log(formatRow([folder, ...COLUMNS.map(([, key]) => String(figures[key]))]));
console.log(formatRow(['in all', ...COLUMNS.map(([, key]) => String(sumUp(key)))]));
console.log(`\n${formatRow(['the whole', ''])}\n${formatRow(['---', '---:'])}`);
// Those of another checkout are not imported.
const executed = root === undefined ? await measureExecuted() : [];
for (const [title, value] of [...measureWhole(repository), ...executed])
  console.log(formatRow([title, String(value)]));
console.log(`\nCircles between the children of a folder: ${findFolderCircles(edges).length}`);

function measureFolder(folder: string): Figures {
  const files = repository.sources.filter((file) => dirname(file) === folder);
  const functions = files.flatMap((file) => measureFunctions(file, repository.read(file)));
  return {
    files: files.length,
    lines: files.reduce((sum, file) => sum + countLines(repository.read(file)), 0),
    arrows: countArrows(edges, folder),
    longestFunction: Math.max(0, ...functions.map(({ lines }) => lines)),
    longFunctions: functions.filter(({ lines }) => lines > FUNCTION_LINES_MAX).length,
    wideComments: countIn(repository, files, findWideComments),
    unusedExports: unused.filter(({ file }) => files.includes(file)).length,
  };
}

function countArrows(all: readonly Edge[], folder: string): number {
  const targets = all.filter(({ from }) => dirname(from) === folder).map(({ target }) => dirname(target));
  return new Set(targets.filter((target) => target !== folder)).size;
}

function countIn(
  { read }: Repository,
  files: readonly string[],
  find: (file: string, text: string) => readonly unknown[],
): number {
  return files.reduce((sum, file) => sum + find(file, read(file)).length, 0);
}

/** The longest function of all; of the others the sum. */
function sumUp(key: keyof Figures): number {
  const values = rows.map(({ figures }) => figures[key]);
  return key === 'longestFunction' ? Math.max(...values) : values.reduce((sum, value) => sum + value, 0);
}

function formatRow(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}
