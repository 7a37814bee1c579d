/** Which tag is like one that no agent has, and what it costs to look for many. */
import { describe, expect, test } from 'vitest';
import { findSimilarTags, foldTag } from '../../server/gateway/agents/ranking/similar-tags.ts';

const foldAll = (tags: readonly string[]) => tags.map((tag) => ({ tag, text: foldTag(tag) }));
const findOne = (tags: readonly string[], tag: string) => findSimilarTags(foldAll(tags), [tag]).get(tag);

describe('the tag most like', () => {
  test.each([
    ['gpu2', ['cpu', 'gpu', 'translate'], 'gpu'],
    ['GPU', ['gpu'], 'gpu'],
    ['zh_en', ['zh-en', 'zh-fr'], 'zh-en'],
    ['tranlsate', ['translate', 'transcode'], 'translate'],
    ['gpu', ['gpu-a100-80g', 'cpu-x'], 'gpu-a100-80g'],
    ['a100', ['a100-80g', 'h100-80g'], 'a100-80g'],
    ['翻译', ['翻譯', 'x'], undefined],
    ['翻译任务', ['翻译', '翻译任物'], '翻译任物'],
    ['a', ['b'], undefined],
    ['video', ['gpu', 'translate'], undefined],
    ['x'.repeat(256), ['x'.repeat(255)], undefined],
    ['anything', [], undefined],
    ['gpu', ['gpu'], undefined],
  ] as const)('%j among %j is %j', (tag, tags, expected) => {
    expect(findOne(tags, tag)).toBe(expected);
  });

  test('among very many is found wherever it stands', () => {
    const tags = [...Array.from({ length: 20_000 }, (_, n) => `tag-${String(n).padStart(5, '0')}`), 'gpu'];
    expect(findOne(tags, 'gpu2')).toBe('gpu');
    expect(findOne(tags, 'tag-0777')).toBe('tag-00777');
  });
});

test('64 tags, of which none is known, cost no more comparisons than four do', () => {
  const letters = (n: number): string => String.fromCharCode(97 + (n % 26), 97 + ((n * 7) % 26));
  const tags = Array.from({ length: 20_000 }, (_, n) => `${'x'.repeat(56)}${n}`.padEnd(64, letters(n)));
  const wanted = Array.from({ length: 64 }, (_, n) =>
    `${'x'.repeat(56)}${n * 300}`.padEnd(64, letters(n + 1)),
  );
  const countComparisons = (some: readonly string[]): number => {
    let compared = 0;
    const known = foldAll(tags).map(({ tag, text }) => ({
      tag,
      get text() {
        compared += 1;
        return text;
      },
    }));
    findSimilarTags(known, some);
    return compared;
  };
  const few = countComparisons(wanted.slice(0, 4));
  expect(few).toBeGreaterThan(500);
  // For each tag, the comparison that passes the bound is made.
  expect(countComparisons(wanted)).toBeLessThanOrEqual(few + 64);
});
