/** What the document states is required of every gateway by the conformance kit, and is said once. */
import { describe, expect, test } from 'vitest';
import {
  listFieldStatements,
  listGuideStatements,
  listOperationStatements,
  measureDocument,
} from '../../spec/statements.ts';
import { REQUIREMENTS } from '../conformance/requirements.ts';
import { readPublished, renderFigures } from './document-figures.ts';

const document = readPublished();

test('each sentence of the guide and of the operations, and each row, is a requirement of the kit', () => {
  console.log(renderFigures(document).replaceAll(/^/gm, 'figure: document '));
  const required = new Set(REQUIREMENTS.map(({ where, text }) => `${where}: ${text}`));
  const stated = [...listGuideStatements(document), ...listOperationStatements(document)].map(
    ({ where, text }) => `${where}: ${text}`,
  );
  expect(stated.length).toBeGreaterThan(200);
  expect(stated.filter((one) => !required.has(one))).toEqual([]);
});

test('so is each sentence of a field, a parameter or a header that promises something', () => {
  const required = new Set(REQUIREMENTS.map(({ text }) => text));
  const promises = listFieldStatements(document).filter(({ text }) =>
    /\b(never|only|at most|must|null if)\b/i.test(text),
  );
  expect(promises.length).toBeGreaterThan(90);
  expect(promises.filter(({ text }) => !required.has(text))).toEqual([]);
});

describe('the size', () => {
  test('of what is said more than once stays small, beside the guide and in all', () => {
    const { besideGuide, repeatedShare } = measureDocument(document);
    // Half of it was repeated when each operation described each error anew.
    expect(repeatedShare).toBeLessThan(0.15);
    expect(besideGuide).toBeLessThan(60_000);
  });
});

describe('the statements', () => {
  const read = (description: string) =>
    listGuideStatements({ info: { description } }).map(({ where, text, isRow }) => [where, text, isRow]);

  test('are the sentences of paragraphs and lists, and the rows of tables', () => {
    const text =
      'One. Two `a. B`\nends.\n\n# Table\n\n| A | B |\n| --- | --- |\n| 1 | 2 |\n\n- Three\n  (more). Four.\n- Five';
    expect(read(text)).toEqual([
      ['Introduction', 'One.', false],
      ['Introduction', 'Two `a. B` ends.', false],
      ['Table', '1 | 2', true],
      ['Table', 'Three (more).', false],
      ['Table', 'Four.', false],
      ['Table', 'Five', false],
    ]);
  });

  test('of an operation are those of its description', () => {
    const paths = { '/a': { get: { operationId: 'getA', description: 'One. Two.' } } };
    expect(listOperationStatements({ paths }).map(({ where, text }) => `${where}: ${text}`)).toEqual([
      'getA: One.',
      'getA: Two.',
    ]);
  });

  test('that are repeated are counted by their characters, in all descriptions but the first', () => {
    const paths = { '/a': { get: { description: 'Same. Other.', summary: 'Same.' } } };
    const {
      guide: size,
      besideGuide,
      repeatedShare,
    } = measureDocument({ info: { description: 'Same.' }, paths });
    expect([size, besideGuide, repeatedShare]).toEqual([5, 17, 5 / 16]);
  });
});
