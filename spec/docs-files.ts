/**
 * The files of the page at `/docs`: Swagger UI as its package has it, with its licences, and what this
 * project adds (the folder `docs/`).
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const OWN = ['index.html', 'page.css', 'page.js'];
const RENDERER = [
  ...['swagger-ui-bundle.js', 'swagger-ui.css', 'LICENSE', 'NOTICE'],
  'swagger-ui-bundle.js.LICENSE.txt',
];

/** Returns the text of each file by its name. */
export function readDocsFiles(specFolder: string): ReadonlyMap<string, string> {
  const rendererFolder = join(specFolder, '../node_modules/swagger-ui-dist');
  const read = (folder: string, names: readonly string[]): readonly (readonly [string, string])[] =>
    names.map((name) => [name, readFileSync(join(folder, name), 'utf8')]);
  const renderer = read(rendererFolder, RENDERER).map(([name, text]) => [name, dropSourceMap(text)] as const);
  return new Map([...read(join(specFolder, 'docs'), OWN), ...renderer]);
}

/** Removes the reference to the source maps, which are three times as large and are not served. */
function dropSourceMap(text: string): string {
  return text.replace(/\n?(\/\/# sourceMappingURL=\S+|\/\*# sourceMappingURL=\S+\*\/)\s*$/, '\n');
}
