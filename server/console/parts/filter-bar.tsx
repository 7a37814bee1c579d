/**
 * The field of filters. Each filter is a token, new ones are typed, and a button copies the link to the
 * result.
 */
import type { VNode } from 'preact';
import { useId, useRef, useState } from 'preact/hooks';
import { addToken, type FilterKeys, readTyped, removeToken, type Token } from '../routing/filter.ts';
import { copyText } from './copy-button.tsx';
import { Icon } from './icon.tsx';

export type FilterBarProps = {
  readonly tokens: readonly Token[];
  readonly keys: FilterKeys;
  /** Filters that the bar completes, such as `tag=gpu`. */
  readonly suggestions: readonly string[];
  readonly placeholder: string;
  readonly onChange: (tokens: readonly Token[]) => void;
};

/** How many suggestions are offered for one text. */
const SUGGESTIONS_MAX = 50;

/** Draws the field. Its `data-filter` lets the key `f` give it the focus. */
export function FilterBar(props: FilterBarProps): VNode {
  const { tokens, keys, suggestions, placeholder, onChange } = props;
  const [text, setText] = useState('');
  const [fault, setFault] = useState('');
  const input = useRef<HTMLInputElement>(null);
  const id = useId();
  const remove = (key: string): void => {
    onChange(removeToken(tokens, key));
    input.current?.focus();
  };
  const add = (typed: string): void => {
    const read = readTyped(typed, keys);
    setFault(read.kind === 'fault' ? read.text : '');
    if (read.kind !== 'token') return;
    setText('');
    onChange(addToken(tokens, read.token));
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.isComposing) return;
    if (event.key === 'Enter') {
      event.preventDefault();
      add(text);
    }
    const last = tokens.at(-1);
    if (event.key === 'Backspace' && text === '' && last) onChange(removeToken(tokens, last.key));
    if (event.key === 'Escape') {
      setText('');
      setFault('');
      input.current?.blur();
    }
  };
  return (
    <search class="filters">
      <div class="tokens">
        <Icon name="filter" />
        {tokens.map(({ key, value }) => (
          <FilterToken key={key} name={key} value={value} onRemove={() => remove(key)} />
        ))}
        <input
          ref={input}
          type="text"
          data-filter
          aria-label="Add a filter"
          aria-invalid={fault !== ''}
          aria-describedby={`${id}-fault`}
          list={`${id}-list`}
          {...{ placeholder, value: text }}
          autocomplete="off"
          spellcheck={false}
          onInput={({ currentTarget }) => {
            setText(currentTarget.value);
            setFault('');
          }}
          onKeyDown={onKeyDown}
        />
        <span class="filter-fault t-bad" id={`${id}-fault`} role="alert">
          {fault}
        </span>
        <datalist id={`${id}-list`}>
          {suggestions
            .filter((one) => text !== '' && one.startsWith(text))
            .slice(0, SUGGESTIONS_MAX)
            .map((one) => (
              <option key={one} value={one} />
            ))}
        </datalist>
      </div>
      <button
        class="btn quiet only-wide"
        type="button"
        onClick={() => void copyText(location.href, 'Copied the link.')}
      >
        <Icon name="link" />
        Copy link
      </button>
    </search>
  );
}

type FilterTokenProps = { readonly name: string; readonly value: string; readonly onRemove: () => void };

function FilterToken({ name, value, onRemove }: FilterTokenProps): VNode {
  return (
    <span class="token" title={`${name}=${value}`}>
      <b>{name}=</b>
      <span>{value}</span>
      <button type="button" aria-label={`Remove the filter ${name}`} onClick={onRemove}>
        <Icon name="cross" />
      </button>
    </span>
  );
}
