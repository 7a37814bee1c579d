/**
 * A field for tags. Each tag is a token. Enter or Tab adds what is typed, and Backspace removes the last tag.
 */
import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { Icon } from '../../parts/icon.tsx';

export type TagFieldProps = {
  readonly id: string;
  readonly tags: readonly string[];
  readonly suggestions: readonly string[];
  readonly describedBy: string;
  readonly isInvalid: boolean;
  readonly onChange: (tags: readonly string[]) => void;
};

/** Draws the field. Text that was typed but not added becomes a tag when the field is left. */
export function TagField({ id, tags, suggestions, describedBy, isInvalid, onChange }: TagFieldProps): VNode {
  const [text, setText] = useState('');
  const add = (typed: string): void => {
    setText('');
    if (typed !== '' && !tags.includes(typed)) onChange([...tags, typed]);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.isComposing) return;
    const isPlain = !event.ctrlKey && !event.metaKey;
    if (event.key === 'Enter' && isPlain) {
      event.preventDefault();
      add(text.trim());
    }
    if (event.key === 'Backspace' && text === '' && tags.length > 0) onChange(tags.slice(0, -1));
  };
  return (
    <div class="tokens">
      {tags.map((tag) => (
        <span key={tag} class="token" title={tag}>
          <span class="only-token">{tag}</span>
          <button
            type="button"
            aria-label={`Remove ${tag}`}
            onClick={() => onChange(tags.filter((one) => one !== tag))}
          >
            <Icon name="cross" />
          </button>
        </span>
      ))}
      <input
        id={id}
        type="text"
        placeholder="add a tag"
        autocomplete="off"
        spellcheck={false}
        list={`${id}-list`}
        aria-describedby={describedBy}
        aria-invalid={isInvalid}
        value={text}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
        onKeyDown={onKeyDown}
        onBlur={() => add(text.trim())}
      />
      <datalist id={`${id}-list`}>
        {suggestions.map((tag) => (
          <option key={tag} value={tag} />
        ))}
      </datalist>
    </div>
  );
}
