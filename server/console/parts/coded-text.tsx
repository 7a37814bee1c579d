/** A sentence in which backquotes are around names: `the tag gpu2` is drawn as code. */
import type { VNode } from 'preact';

/** The sentence; each part between two backquotes is code, and all of it is text. */
export function CodedText({ text }: { readonly text: string }): VNode {
  const parts = text.split('`');
  return (
    <>
      {parts.map((part, index) => {
        // Without its partner a backquote is what it is.
        if (index % 2 === 1 && index === parts.length - 1) return `\`${part}`;
        return index % 2 === 1 ? <code key={index}>{part}</code> : part;
      })}
    </>
  );
}
