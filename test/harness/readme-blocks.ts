/**
 * The code blocks of a README: their language, the word beside it that says what they are for, their text.
 */

export type Block = { readonly language: string; readonly role: string; readonly text: string };

/** Every block of a text in Markdown, in its order. */
export function readBlocks(markdown: string): readonly Block[] {
  const found = markdown.matchAll(/^```(\w+)(?: ([\w.-]+))?\n([\s\S]*?)^```$/gm);
  return [...found].map(([, language = '', role = '', text = '']) => ({ language, role, text }));
}
