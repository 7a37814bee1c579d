/**
 * Whether a change breaks users of the published contract: the document is compared with the one last
 * published, and the comparison itself is tried on prepared changes.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { isJson, type Json, requireObject } from '../../spec/document.ts';
import { breakingChanges, type Change, safeChanges } from './changes.ts';
import { diffDocuments, type Rating } from './redocly.ts';
import { writeOut } from './written-out.ts';

/** 3.2 describes the events of the stream too; `published.test.ts` shows that 3.1 says the same. */
const current = join(import.meta.dirname, '../../generated/openapi/task-gateway.3.2.json');
const baseline = join(import.meta.dirname, 'baseline/task-gateway.3.2.yaml');

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

/**
 * The document last published, without the parameter for a header that is described at the query parameter
 * which stands for it too. The header still counts: `sse.test.ts` sends it.
 */
function readBaseline(): Json {
  const document: Json = parse(readFileSync(baseline, 'utf8'));
  const operation = requireObject(document, 'paths', '/api/cli/events', 'get');
  const parameters = Array.isArray(operation.parameters) ? operation.parameters.filter(isJson) : [];
  operation.parameters = parameters.filter(({ name }) => name !== 'Last-Event-ID');
  return document;
}

const readCurrent = (): Json => JSON.parse(readFileSync(current, 'utf8'));

test('the document breaks no user of the one last published', async () => {
  const breaking = await findBreaking(readBaseline(), readCurrent());
  expect(breaking, 'A breaking change needs a new major version, and then a new baseline.').toEqual([]);
});

describe('the comparison', () => {
  async function rate({ apply }: Change): Promise<readonly Rating[]> {
    const document = readCurrent();
    const before = JSON.stringify(document);
    apply(document);
    expect(JSON.stringify(document)).not.toBe(before);
    return await findBreaking(readCurrent(), document);
  }

  test.each(breakingChanges)('warns when $title', async (change) => {
    expect((await rate(change)).flatMap(({ reasons }) => reasons)).not.toEqual([]);
  });

  test.each(safeChanges)('gives no warning when $title', async (change) => {
    expect(await rate(change)).toEqual([]);
  });
});
