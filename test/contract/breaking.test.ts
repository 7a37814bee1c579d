/**
 * Within a major version the contract only grows: the document is compared with the baseline, that of the
 * last release, and the comparison is tried on prepared changes. What the first version of a major one breaks
 * is in the changelog.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Json, requireObject } from '../../spec/document.ts';
import { breakingChanges, type Change, safeChanges } from './changes.ts';
import { diffDocuments, type Rating } from './redocly.ts';
import { writeOut } from './written-out.ts';

/** 3.2 describes the events of the stream too; `published.test.ts` shows that 3.1 says the same. */
const current = join(import.meta.dirname, '../../generated/openapi/task-gateway.3.2.json');
/** A copy of the document, which `npm run release` makes. */
const baseline = join(import.meta.dirname, 'baseline/task-gateway.3.2.json');
const changelog = join(import.meta.dirname, '../../CHANGELOG.md');

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

const readDocument = (path: string): Json => JSON.parse(readFileSync(path, 'utf8'));
const readCurrent = (): Json => readDocument(current);
const majorOf = (document: Json) => Number.parseInt(String(requireObject(document, 'info').version), 10);

test('breaks nobody, unless it is of a major version after the baseline', async () => {
  const [base, revision] = [readDocument(baseline), readCurrent()];
  expect(majorOf(revision)).toBeGreaterThanOrEqual(majorOf(base));
  if (majorOf(revision) === majorOf(base)) expect(await findBreaking(base, revision)).toEqual([]);
  else expect(readFileSync(changelog, 'utf8').split(/^## /m)[1]).toMatch(/^### Breaking\n\n- /m);
});

describe('the comparison', () => {
  function findBreaks({ apply }: Change): Promise<readonly Rating[]> {
    const document = readCurrent();
    const before = JSON.stringify(document);
    apply(document);
    expect(JSON.stringify(document)).not.toBe(before);
    return findBreaking(readCurrent(), document);
  }

  test.each(breakingChanges)('warns when $title', async (change) => {
    expect(await findBreaks(change)).not.toEqual([]);
  });

  test.each(safeChanges)('gives no warning when $title', async (change) => {
    expect(await findBreaks(change)).toEqual([]);
  });
});
