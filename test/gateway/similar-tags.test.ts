/** Which tag is like one that no agent has. */
import { describe, expect, test } from 'vitest';
import { createSimilarTags, type SimilarTags } from '../../server/gateway/similar-tags.ts';

function createWith(...tags: readonly string[]): SimilarTags {
  const similar = createSimilarTags();
  for (const tag of tags) similar.add(tag);
  return similar;
}

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
  ] as const)('%j among %j is %j', (tag, tags, expected) => {
    expect(createWith(...tags).find(tag)).toBe(expected);
  });

  test('is found anew when the tags change', () => {
    const similar = createWith('gpu');
    expect(similar.find('gpu2')).toBe('gpu');
    similar.remove('gpu');
    expect(similar.find('gpu2')).toBeUndefined();
    similar.add('gpu3');
    expect(similar.find('gpu2')).toBe('gpu3');
    similar.clear();
    expect(similar.find('gpu2')).toBeUndefined();
  });

  test('among very many is found near it in the alphabet', () => {
    const similar = createWith(
      ...Array.from({ length: 20_000 }, (_, n) => `tag-${String(n).padStart(5, '0')}`),
      'gpu',
    );
    expect(similar.find('gpu2')).toBe('gpu');
    expect(similar.find('tag-0777')).toBe('tag-07770');
  });
});
