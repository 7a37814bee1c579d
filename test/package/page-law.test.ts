/** The pages for readers keep their bounds, their links lead somewhere, and the law notices what does not. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { PACKAGES } from './packages.ts';
import { FIRST_PAGE_BOUNDS, findDeadLinks, findOverlong, PAGE_BOUNDS, type PageBounds } from './page-law.ts';
import { openRepository } from './repository.ts';

const ROOT = join(import.meta.dirname, '../..');
const { files, read } = openRepository();
const exists = (path: string): boolean => existsSync(join(ROOT, path));
const pages = files.filter((file) => file.endsWith('.md'));
/** All but the licenses of others. */
const bounded = pages.filter((file) => file !== 'generated/console/LICENSES.md');
/** Pages of the tests, and the guide, which is broken into lines where it is shown: of any width. */
const WIDE = /^test\/README|^test\/bench\/results\/|^spec\/guide/;
const boundsOf = (page: string): PageBounds =>
  WIDE.test(page) ? { ...PAGE_BOUNDS, columns: Number.POSITIVE_INFINITY } : PAGE_BOUNDS;

describe('a page', () => {
  test.each(bounded)('%s has short paragraphs and lines that fit', (page) => {
    expect(findOverlong(read(page), boundsOf(page))).toEqual([]);
  });

  test('the first one is short', () => {
    expect(findOverlong(read('README.md'), FIRST_PAGE_BOUNDS)).toEqual([]);
  });

  test.each(pages)('%s links to files and headings that are there', (page) => {
    expect(findDeadLinks(page, { exists, read })).toEqual([]);
  });

  test.each(PACKAGES)(
    'of the package in $folder/ links to what is packed with it',
    ({ folder, page: first }) => {
      const { files: packed } = JSON.parse(read(`${folder}/package.json`)) as { files: readonly string[] };
      const isPacked = (path: string): boolean => {
        const inside = path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : '';
        const [name = ''] = inside.split('/');
        return name !== '' && (packed.includes(name) || packed.includes(name.replace(/^[^.]+/, '*')));
      };
      const entry = `${folder}/${first ?? 'README.md'}`;
      const own = pages.filter((page) => page === entry || (isPacked(page) && dirname(page) === folder));
      expect(own.length).toBeGreaterThan(0);
      for (const page of own) expect(findDeadLinks(page, { exists: isPacked, read }), page).toEqual([]);
    },
  );
});

describe('the law bites', () => {
  const words = (count: number): string => 'word '.repeat(count).trim();
  const short = `${words(20)}\n`.repeat(4);
  const long = `${short}word`;

  test.each([
    ['a paragraph behind a heading', `# Title\n${long}`, ['line 2: a paragraph of 81 words']],
    ['an item of a list', `- one\n- ${long}`, ['line 2: a paragraph of 82 words']],
    ['a line of code', `\`\`\`sh\n${'x'.repeat(131)}\n\`\`\`\n`, ['line 2: 131 columns']],
  ])('%s that is too long', (_title, page, found) => {
    expect(findOverlong(page, PAGE_BOUNDS)).toEqual(found);
  });

  test.each([
    ['two paragraphs', `${short}\n${short}`],
    ['items of a list', `- ${words(15)}\n`.repeat(20)],
    ['code of many words', `\`\`\`sh\n${long}\n\`\`\`\n`],
    ['a row of a table', `| ${words(100)} |`],
  ])('but spares %s', (_title, page) => {
    expect(findOverlong(page, PAGE_BOUNDS)).toEqual([]);
  });

  test('rows, code and lines of the first page', () => {
    const page = `${words(61).replaceAll(' word word', '\nword word')}\n\`\`\`sh\n${'x'.repeat(131)}\n\`\`\`\n| ${'x'.repeat(131)} |`;
    expect(findOverlong(page, FIRST_PAGE_BOUNDS)).toEqual([
      ...['line 1: a paragraph of 61 words', 'line 33: 131 columns', 'line 35: 135 columns'],
    ]);
    expect(findOverlong('\n'.repeat(131), FIRST_PAGE_BOUNDS)).toEqual(['131 lines']);
  });

  test('a link without a file, or without its heading', () => {
    const texts: Readonly<Record<string, string>> = {
      'a/one.md': '# Own Part\n[](two.md) [](two.md#the-other-part-2) [](#own-part) [](https://x.example/)',
      'a/two.md': '## The other part (2)',
      'a/bad.md': '[](none.md) [](two.md#missing) [](#missing)',
    };
    const checkout = { exists: (path: string) => path in texts, read: (path: string) => texts[path] ?? '' };
    expect(findDeadLinks('a/one.md', checkout)).toEqual([]);
    expect(findDeadLinks('a/bad.md', checkout)).toEqual(['none.md', 'two.md#missing', '#missing']);
  });
});
