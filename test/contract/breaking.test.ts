/**
 * The comparison that finds what breaks users of the contract, tried on prepared changes, and the lines of
 * the changelog that name a break. Nothing is published before 1.0.0, so there is no earlier document to
 * compare with yet: until then `npm run generate -- --check` alone compares the committed document with its
 * sources.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Json } from '../../spec/document.ts';
import { breakingChanges, type Change, safeChanges } from './changes.ts';
import { type Break, findUnnamed, listBreaks, readBreakLines } from './named-breaks.ts';
import { diffDocuments, type Rating } from './redocly.ts';
import { writeOut } from './written-out.ts';

/** 3.2 describes the events of the stream too; `published.test.ts` shows that 3.1 says the same. */
const current = join(import.meta.dirname, '../../generated/openapi/task-gateway.3.2.json');

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'task-gateway-changes-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

let files = 0;
async function findBreaking(base: Json, revision: Json): Promise<readonly Rating[]> {
  const [basePath = '', revisionPath = ''] = [base, revision].map((document) => {
    files += 1;
    const path = join(folder, `${files}.json`);
    writeFileSync(path, JSON.stringify(writeOut(document), null, 2));
    return path;
  });
  const ratings = await diffDocuments(basePath, revisionPath);
  return ratings.filter(({ impact }) => impact === 'major');
}

const readCurrent = (): Json => JSON.parse(readFileSync(current, 'utf8'));

describe('the comparison', () => {
  async function findBreaks({ apply }: Change): Promise<readonly Break[]> {
    const document = readCurrent();
    const before = JSON.stringify(document);
    apply(document);
    expect(JSON.stringify(document)).not.toBe(before);
    const ratings = await findBreaking(readCurrent(), document);
    return ratings.flatMap((rating) => listBreaks(rating, [readCurrent(), document]));
  }

  test.each(breakingChanges)('warns when $title, until a line names it', async (change) => {
    const breaks = await findBreaks(change);
    expect(breaks).not.toEqual([]);
    expect(findUnnamed(breaks, [])).toEqual(breaks);
    const lines = breaks.map(
      ({ operation, field = operation }) => `\`${field}\` of \`${operation}\` is another.`,
    );
    expect(findUnnamed(breaks, lines)).toEqual([]);
    const withoutField = breaks.map(({ operation }) => `\`${operation}\` is another.`);
    const withField = breaks.filter(({ field }) => field !== undefined);
    expect(findUnnamed(breaks, withoutField)).toEqual(withField);
  });

  test.each(safeChanges)('gives no warning when $title', async (change) => {
    expect(await findBreaks(change)).toEqual([]);
  });
});

describe('the lines of the changelog', () => {
  const broken = [{ operation: 'submitTask', field: 'timeout' }];
  const write = (breaking: string, fixed: string) =>
    `# Changelog\n\n## 2.0.0\n\n### Breaking since the previews\n\n${breaking}\n### Fixed\n\n${fixed}\n## 1.0.0\n\n- Old.\n`;
  const findIn = (changelog: string) => findUnnamed(broken, readBreakLines('2.0.0', changelog));

  test('name a break by its operation and field, in one line', () => {
    expect(findIn(write('- `submitTask`: a\n  `timeout` is shorter.\n', '- Other.\n'))).toEqual([]);
    expect(findIn(write('- `TaskSubmission.timeout` of `submitTask`.\n', ''))).toEqual([]);
  });

  test.each([
    ['another group', write('- Other.\n', '- `submitTask`: `timeout` is shorter.\n')],
    ['another field', write('- `submitTask`: `queue_timeout` is shorter.\n', '')],
    ['another operation', write('- `cancelTask`: `timeout` is shorter.\n', '')],
    ['two lines', write('- `submitTask`: other.\n- `timeout` is shorter.\n', '')],
    ['no code', write('- submitTask: timeout is shorter.\n', '')],
  ])('do not name it by %s', (_, changelog) => {
    expect(findIn(changelog)).toEqual(broken);
  });

  test('stand behind what a reader must do, which is the first group of the newest version', () => {
    const [, newest = ''] = readFileSync(join(import.meta.dirname, '../../CHANGELOG.md'), 'utf8').split(
      /^## /m,
    );
    expect(newest.match(/^### .*$/gm)?.slice(0, 2)).toEqual([
      ...['### What you must do', '### Breaking since the previews'],
    ]);
    expect(newest).toMatch(/^### What you must do\n\n- /m);
  });

  test('are found by the version, with its date or without one', () => {
    const dated = write('- `submitTask`: `timeout` is shorter.\n', '').replace(
      '## 2.0.0',
      '## 2.0.0 (2026-12-01)',
    );
    expect(findIn(dated)).toEqual([]);
  });

  test('must be there for the version', () => {
    expect(() => readBreakLines('3.0.0', write('', ''))).toThrow(/no section "## 3.0.0"/);
  });
});
