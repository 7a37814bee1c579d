/**
 * What the document says, how often, and what of it a test holds: `node test/contract/document-figures.ts
 * [FILE…]` prints it of the published document, or of any others, such as one of an earlier revision.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Json } from '../../spec/document.ts';
import {
  listGuideStatements,
  listOperationStatements,
  measureDocument,
  type Statement,
} from '../../spec/statements.ts';
import { ADVICE, POLICY, type StatementTests, TESTS_OF_GUIDE } from './tests-of-guide.ts';
import { TESTS_OF_OPERATIONS } from './tests-of-operations.ts';

const root = join(import.meta.dirname, '../..');
const published = join(root, 'generated/openapi/task-gateway.3.1.json');

/** The statements of one part of the document, by what holds them. */
export type TestedPart = {
  /** Those that promise something. */
  readonly statements: readonly Statement[];
  readonly rows: readonly Statement[];
  readonly untested: readonly Statement[];
  /** Entries of the list that begin no statement, or more than one, or name a test that is not there. */
  readonly mistakes: readonly string[];
};

export function readPublished(path = published): Json {
  return JSON.parse(readFileSync(path, 'utf8'));
}

/** Which statements of the guide a test holds. */
export function findTestedInGuide(document: Json): TestedPart {
  return findTested(listGuideStatements(document), TESTS_OF_GUIDE);
}

/** Which statements about operations a test holds. */
export function findTestedInOperations(document: Json): TestedPart {
  return findTested(listOperationStatements(document), TESTS_OF_OPERATIONS);
}

function findTested(all: readonly Statement[], held: StatementTests): TestedPart {
  const mistakes: string[] = [];
  const tests = new Map<Statement, string>();
  for (const [where, entries] of Object.entries(held)) {
    for (const [begins, test] of entries) {
      const found = all.filter((one) => one.where === where && isBegun(one, begins));
      if (begins === '|' ? found.length === 0 : found.length !== 1) {
        mistakes.push(`"${where}": ${found.length} statements begin with "${begins}"`);
      }
      if (!isTest(test)) mistakes.push(`"${where}", "${begins}": there is no test "${test}"`);
      for (const statement of found) tests.set(statement, test);
    }
  }
  const statements = all.filter((one) => !isUnbound(tests.get(one)));
  return {
    statements,
    rows: statements.filter(({ isRow }) => isRow),
    untested: statements.filter((one) => !tests.has(one)),
    mistakes,
  };
}

/** Rows are named without the marks of code around their first words. */
function isBegun({ text, isRow }: Statement, begins: string): boolean {
  return begins === '|' ? isRow : text.startsWith(begins);
}

function isUnbound(test: string | undefined): boolean {
  return test === ADVICE || test === POLICY;
}

function isTest(test: string): boolean {
  if (isUnbound(test)) return true;
  const [file = '', title = ''] = test.split(/: (.*)/s);
  const path = join(root, 'test', file);
  return existsSync(path) && readFileSync(path, 'utf8').includes(title);
}

/** The figures as one text, a line for each. */
export function renderFigures(document: Json): string {
  const { characters, guide, besideGuide, repeatedShare } = measureDocument(document);
  const count = (name: string, { statements, rows, untested }: TestedPart): string =>
    `${name}: ${statements.length} statements, ${rows.length} of them rows of tables; a test holds ` +
    `${statements.length - untested.length} (${percent(1 - untested.length / Math.max(1, statements.length))})`;
  return [
    `document: ${characters} characters, guide ${guide}, other text ${besideGuide}`,
    `of the other text ${percent(repeatedShare)} is repeated`,
    count('guide', findTestedInGuide(document)),
    count('operations', findTestedInOperations(document)),
  ].join('\n');
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}

if (import.meta.main) {
  const files = process.argv.slice(2);
  for (const file of files.length > 0 ? files : [published]) {
    const document = readPublished(file);
    console.log(`${file}\n${renderFigures(document)}`);
    const untested = [...findTestedInGuide(document).untested, ...findTestedInOperations(document).untested];
    for (const { where, text } of untested) console.log(`  no test holds: ${where}: ${text}`);
  }
}
