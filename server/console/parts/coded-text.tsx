/** A sentence in which backquotes mark names, which are drawn as code. */
import type { VNode } from 'preact';
import { useConsole } from '../gateway/console.ts';

/** How the gateway says to answer a question: with a call for which this console has a form. */
const ANSWER_CALL = 'Answer with `POST /api/cli/tasks/{request_id}/answer`';

/** Draws the sentence. Each part between two backquotes is code, and nothing in it is markup. */
export function CodedText({ text }: { readonly text: string }): VNode {
  const hasForms = useConsole().overview.value.value?.console !== 'read-only';
  const parts = (
    hasForms ? text.replace(ANSWER_CALL, 'Answer in the form on the page of the task') : text
  ).split('`');
  return (
    <>
      {parts.map((part, index) => {
        // A backquote without a partner is drawn as it is.
        if (index % 2 === 1 && index === parts.length - 1) return `\`${part}`;
        return index % 2 === 1 ? <code key={index}>{part}</code> : part;
      })}
    </>
  );
}
