/**
 * The scan of a large body: it finds the same levels, keys and parts whatever stands in the texts, however
 * long they are and wherever its slices cut them.
 */
import { describe, expect, test } from 'vitest';
import { HTTP_LIMITS } from '../../server/http/http.ts';
import { scanJson } from '../../server/http/request/json-scan.ts';

/** What a text may hold that could be taken for its end, or for something outside of it. */
const PIECES = ['"', '\\', '\\"', '\\\\', '{"a":[', ']},', '\n', '1e999', 'é', '中'];
/** Around the lengths at which the scan looks at a text in another way. */
const LENGTHS = [0, 1, 46, 47, 48, 49, 255, 256, 257, 4_095, 4_096, 4_097, 65_535, 65_536, 140_000];

/** Two levels, and in the object below as many keys and parts as it has entries. */
function buildBody(texts: readonly string[]): Buffer {
  return Buffer.from(JSON.stringify(Object.fromEntries(texts.map((text, n) => [`${n}${text}`, text]))));
}

async function expectCounted(texts: readonly string[]): Promise<void> {
  const body = buildBody(texts);
  const exact = { ...HTTP_LIMITS, depthMax: 1, keysMax: texts.length, partsMax: texts.length + 1 };
  expect(await scanJson(body, exact)).toEqual({ excess: undefined, mayBeInfinite: false });
  const keysMax = texts.length - 1;
  expect((await scanJson(body, { ...exact, keysMax })).excess?.detail).toContain('too many keys');
  const { excess } = await scanJson(body, { ...exact, partsMax: texts.length });
  expect(excess?.detail).toContain('too many texts');
}

describe('the scan of a large body', () => {
  test.each(LENGTHS)('counts what is around texts of about %i characters', async (length) => {
    for (const piece of PIECES) {
      await expectCounted([
        `${'x'.repeat(length)}${piece}`,
        `${piece}${'x'.repeat(length)}${piece}${piece}`,
        '',
      ]);
    }
  });

  test('counts what is around texts full of quotes and backslashes', async () => {
    await expectCounted(PIECES.map((piece) => piece.repeat(20_000)));
    await expectCounted(PIECES.map((piece) => `${'x'.repeat(47)}${piece}`.repeat(3_000)));
  });

  test('names the value behind a long text that is nested too deep', async () => {
    const body = Buffer.from(JSON.stringify({ a: ['\\"'.repeat(50_000), { b: [] }] }));
    const { excess } = await scanJson(body, { ...HTTP_LIMITS, depthMax: 3 });
    expect(excess?.pointer).toBe('/a/1/b');
  });
});
