/**
 * Reads the code blocks of a README: their language, the word beside it that says what they are for, their
 * text. Also reads the pages of a package as one text.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');

export type Block = { readonly language: string; readonly role: string; readonly text: string };

/** Returns every block of a text in Markdown, in order. */
export function readBlocks(markdown: string): readonly Block[] {
  const found = markdown.matchAll(/^```(\w+)(?: ([\w.-]+))?\n([\s\S]*?)^```$/gm);
  return [...found].map(([, language = '', role = '', text = '']) => ({ language, role, text }));
}

/** Returns all pages of a folder of the repository, such as `sdk`, joined in the order of their names. */
export function readPages(folder: string): string {
  const names = readdirSync(join(ROOT, folder)).filter((name) => name.endsWith('.md'));
  return names
    .sort()
    .map((name) => readFileSync(join(ROOT, folder, name), 'utf8'))
    .join('\n');
}
