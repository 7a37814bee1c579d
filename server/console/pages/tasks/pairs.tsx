/** The beginning of an object as keys and values, in one row. */
import type { VNode } from 'preact';
import { readPairs, showText } from '../../parts/json-model.ts';

/** Draws JSON of an object as `key value` pairs, as many as fit into one row. */
export function Pairs({ text }: { readonly text: string }): VNode {
  const pairs = readPairs(text);
  if (pairs === null) return <span class="cut payload">{showText(text)}</span>;
  if (pairs.length === 0) return <span class="faint">{'{}'}</span>;
  return (
    <span class="cut kv">
      {pairs.map(({ key, text: value }, index) => (
        <span key={key}>
          {index > 0 && <b />}
          <i>{showText(key)}</i> {showText(value)}
        </span>
      ))}
    </span>
  );
}
