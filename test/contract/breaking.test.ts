/**
 * Whether a change breaks users of the published contract: the document is compared with the one last
 * published, and the comparison itself is tried on prepared changes.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { breakingChanges, type Change, safeChanges } from './changes.ts';
import { diffDocuments, type Rating } from './redocly.ts';

/** 3.2 describes the events of the stream too; `published.test.ts` shows that 3.1 says the same. */
const current = join(import.meta.dirname, '../../generated/openapi/task-gateway.3.2.json');
const baseline = join(import.meta.dirname, 'baseline/task-gateway.3.2.yaml');

async function findBreaking(base: string, revision: string): Promise<readonly Rating[]> {
  const ratings = await diffDocuments(base, revision);
  return ratings.filter(({ impact }) => impact === 'major');
}

test('the document breaks no user of the one last published', async () => {
  const breaking = await findBreaking(baseline, current);
  expect(breaking, 'A breaking change needs a new major version, and then a new baseline.').toEqual([]);
});

describe('the comparison', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'task-gateway-changes-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  async function rate({ title, apply }: Change): Promise<readonly Rating[]> {
    const document = JSON.parse(readFileSync(current, 'utf8'));
    const before = JSON.stringify(document);
    apply(document);
    expect(JSON.stringify(document)).not.toBe(before);
    const path = join(folder, `${title}.json`);
    writeFileSync(path, JSON.stringify(document, null, 2));
    return await findBreaking(current, path);
  }

  test.each(breakingChanges)('warns when $title', async (change) => {
    expect((await rate(change)).flatMap(({ reasons }) => reasons)).not.toEqual([]);
  });

  test.each(safeChanges)('gives no warning when $title', async (change) => {
    expect(await rate(change)).toEqual([]);
  });
});
