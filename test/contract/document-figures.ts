/**
 * What the document says, how often, and how many statements it makes: `node
 * test/contract/document-figures.ts [FILE…]` prints it of the published document, or of any others, such as
 * one of an earlier revision.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Json } from '../../spec/document.ts';
import {
  listGuideStatements,
  listOperationStatements,
  measureDocument,
  type Statement,
} from '../../spec/statements.ts';

const published = join(import.meta.dirname, '../../generated/openapi/task-gateway.3.1.json');

export function readPublished(path = published): Json {
  return JSON.parse(readFileSync(path, 'utf8'));
}

/** The figures as one text, a line for each. */
export function renderFigures(document: Json): string {
  const { characters, guide, besideGuide, repeatedShare } = measureDocument(document);
  const count = (name: string, statements: readonly Statement[]): string =>
    `${name}: ${statements.length} statements, ${statements.filter(({ isRow }) => isRow).length} of them rows of tables`;
  return [
    `document: ${characters} characters, guide ${guide}, other text ${besideGuide}`,
    `of the other text ${(repeatedShare * 100).toFixed(1)} % is repeated`,
    count('guide', listGuideStatements(document)),
    count('operations', listOperationStatements(document)),
  ].join('\n');
}

if (import.meta.main) {
  const files = process.argv.slice(2);
  for (const file of files.length > 0 ? files : [published])
    console.log(`${file}\n${renderFigures(readPublished(file))}`);
}
