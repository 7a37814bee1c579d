/** Shown in the list if no task matches, with the filters that may be removed. */
import type { VNode } from 'preact';
import { COUNTS_MS } from '../../gateway/client.ts';
import { useConsole, useWatch } from '../../gateway/console.ts';
import { removeToken, type Token } from '../../routing/filter.ts';
import { hrefOf } from '../../routing/routes.ts';
import { describeTotal } from './total-words.ts';

export type NoRowsProps = {
  readonly tokens: readonly Token[];
  readonly onChange: (tokens: readonly Token[]) => void;
  /** Whether there are tasks that were not looked at. */
  readonly hasMore: boolean;
};

export function NoRows({ tokens, onChange, hasMore }: NoRowsProps): VNode {
  const { client } = useConsole();
  const kept = useWatch('all tasks', client.readTaskCounts({}), COUNTS_MS).value.value;
  if (tokens.length === 0) {
    return (
      <div class="in">
        <p class="b">No task is kept.</p>
        <p class="muted">
          A task is kept for 24 hours after it ends.{' '}
          <a class="link" href={hrefOf({ page: 'submit' })}>
            Submit one
          </a>
        </p>
      </div>
    );
  }
  return (
    <div class="in">
      <p class="b">{hasMore ? 'No task matches so far.' : 'No task matches.'}</p>
      <p class="muted">
        {hasMore && 'The newest tasks were looked at; press Older for the others. '}
        The filter{tokens.length > 1 ? 's ' : ' '}
        {tokens.map(({ key, value }, index) => (
          <span key={key}>
            {index > 0 && ' and '}
            <code>
              {key}={value}
            </code>
          </span>
        ))}
        {tokens.length > 1 ? ' together leave none. ' : ' leaves none. '}
        {tokens.length > 1 &&
          tokens.map(({ key }, index) => (
            <span key={key}>
              <button class="linkbutton" type="button" onClick={() => onChange(removeToken(tokens, key))}>
                {index === 0 ? 'Remove' : 'remove'} {key}
              </button>
              {', '}
            </span>
          ))}
        <button class="linkbutton" type="button" onClick={() => onChange([])}>
          {tokens.length > 1 ? 'or clear all' : 'Clear the filter'}
        </button>
        . {kept && `Without a filter: ${describeTotal(kept, false)}.`}
      </p>
    </div>
  );
}
