/** A sentence in which backquotes are around names: `the tag gpu2` is drawn as code. */
import type { VNode } from 'preact';
import { useConsole } from '../gateway/console.ts';

/** How the gateway says to answer a question: with the call that a form of this console makes. */
const ANSWER_CALL = 'Answer with `POST /api/cli/tasks/{request_id}/answer`';

/** The sentence; each part between two backquotes is code, and all of it is text. */
export function CodedText({ text }: { readonly text: string }): VNode {
  const hasForms = useConsole().overview.value.value?.console !== 'read-only';
  const parts = (
    hasForms ? text.replace(ANSWER_CALL, 'Answer in the form on the page of the task') : text
  ).split('`');
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
