/**
 * What the pages for readers look like: short paragraphs, lines that fit, links that lead somewhere. A
 * paragraph is text between blank lines, outside of code and tables; each item of a list is one of its own.
 */
import { dirname, join, normalize } from 'node:path';

export type PageBounds = {
  readonly words: number;
  readonly columns: number;
  /** Lines of the whole page; any number where it is absent. */
  readonly lines?: number;
};

/** What every published page keeps. A row of a table may be wider, because it is one line. */
export const PAGE_BOUNDS: PageBounds = { words: 80, columns: 130 };
/** What the first page keeps, its tables too. */
export const FIRST_PAGE_BOUNDS: PageBounds = { words: 60, columns: 130, lines: 130 };

type Paragraph = { readonly line: number; readonly text: string };

/** What is too long in a page, each with its line. */
export function findOverlong(page: string, bounds: PageBounds): readonly string[] {
  const lines = page.replace(/\n$/, '').split('\n');
  const long = readParagraphs(lines).flatMap(({ line, text }) => {
    const { length } = text.split(/\s+/);
    return length > bounds.words ? [`line ${line}: a paragraph of ${length} words`] : [];
  });
  const wide = lines.flatMap((line, index) => {
    const { length } = [...line];
    const counts = bounds.lines !== undefined || !line.startsWith('|');
    return counts && length > bounds.columns ? [`line ${index + 1}: ${length} columns`] : [];
  });
  const over = lines.length > (bounds.lines ?? lines.length) ? [`${lines.length} lines`] : [];
  return [...long, ...wide, ...over];
}

function readParagraphs(lines: readonly string[]): readonly Paragraph[] {
  const paragraphs: Paragraph[] = [];
  let isCode = false;
  let isOpen = false;
  for (const [index, line] of lines.entries()) {
    const isFence = /^\s*```/.test(line);
    if (isFence) isCode = !isCode;
    if (isFence || isCode || /^\s*$|^\s*\||^#|^<!--/.test(line)) isOpen = false;
    else if (isOpen && !/^\s*([-*]|\d+\.) /.test(line)) {
      const { line: first, text } = paragraphs.pop() ?? { line: index + 1, text: '' };
      paragraphs.push({ line: first, text: `${text}\n${line}` });
    } else {
      paragraphs.push({ line: index + 1, text: line });
      isOpen = true;
    }
  }
  return paragraphs;
}

/** A checkout as links see it. */
export type LinkedFiles = {
  readonly exists: (path: string) => boolean;
  readonly read: (path: string) => string;
};

/** The links of a page to files or headings that are not there, as they are written. */
export function findDeadLinks(path: string, { exists, read }: LinkedFiles): readonly string[] {
  const text = read(path).replaceAll(/^```[\s\S]*?^```$/gm, '');
  return [...text.matchAll(/\]\(([^)\s:]+)\)/g)].flatMap(([, link = '']) => {
    const [target = '', anchor] = link.split('#');
    const file = target === '' ? path : normalize(join(dirname(path), target)).replace(/\/$/, '');
    if (!exists(file)) return [link];
    return anchor === undefined || readAnchors(read(file)).includes(anchor) ? [] : [link];
  });
}

/** The anchors of a page's headings, as GitHub and npm make them. */
function readAnchors(page: string): readonly string[] {
  const text = page.replaceAll(/^```[\s\S]*?^```$/gm, '');
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
}
