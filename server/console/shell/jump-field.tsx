/** The field that goes to a task, an agent, a type, a session or a tag, with suggestions while one types. */
import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { useConsole } from '../gateway/console.ts';
import { describeError } from '../parts/describe-error.ts';
import { Icon } from '../parts/icon.tsx';
import { showToast } from '../parts/toast.tsx';
import { navigate } from '../routing/routes.ts';
import type { Suggester, Suggestion } from './jump-suggestions.ts';

/** How long a look-up may take. */
const LOOK_MS = 10_000;

/** Draws the field. Its `data-slash` lets the key `/` give it the focus. */
export function JumpField(): VNode {
  const { client, overview } = useConsole();
  const field = useRef<HTMLInputElement>(null);
  const looking = useSignal<AbortController | null>(null);
  const { suggestions, suggest, forget } = useSuggestions();
  const active = useSignal(-1);
  useEffect(() => () => looking.peek()?.abort(), []);
  const close = (): void => {
    forget();
    active.value = -1;
  };
  const go = (href: string): void => {
    close();
    navigate(href);
    if (field.current) field.current.value = '';
    field.current?.blur();
  };
  const look = async (text: string): Promise<void> => {
    looking.peek()?.abort();
    const mine = new AbortController();
    looking.value = mine;
    const tags = new Set(overview.value.peek()?.tags.map(({ tag }) => tag));
    try {
      const { findTarget } = await import('./jump-target.ts');
      const signal = AbortSignal.any([mine.signal, AbortSignal.timeout(LOOK_MS)]);
      const href = await findTarget(text, client, tags, signal);
      if (mine.signal.aborted) return;
      if (href === null) {
        // The text stays, so that a person can correct it.
        field.current?.select();
        showToast({ tone: 'info', text: `No agent, task, session or tag is called “${text}”.` });
      } else go(href);
    } catch (error) {
      if (mine.signal.aborted) return;
      showToast({ tone: 'bad', text: `Could not look for it: ${describeError(error)}.` });
    } finally {
      if (looking.peek() === mine) looking.value = null;
    }
  };
  const list = suggestions.value;
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.isComposing || list.length === 0) return;
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step !== 0) {
      event.preventDefault();
      // Beyond either end of the list comes the field itself, where Enter looks up what was typed.
      active.value = ((active.value + 1 + step + list.length + 1) % (list.length + 1)) - 1;
    }
    if (event.key === 'Escape') {
      event.preventDefault();
      close();
    }
  };
  return (
    <form
      class="jump"
      role="search"
      aria-busy={looking.value !== null}
      onSubmit={(event) => {
        event.preventDefault();
        const chosen = list[active.value];
        const text = field.current?.value.trim() ?? '';
        if (chosen) return go(chosen.href);
        if (text === '') return;
        void look(text);
      }}
    >
      <Icon name="search" />
      <input
        ref={field}
        type="search"
        data-slash
        role="combobox"
        list={undefined}
        aria-label="Go to"
        aria-expanded={list.length > 0}
        aria-controls="jump-list"
        aria-autocomplete="list"
        aria-activedescendant={active.value < 0 ? undefined : `jump-${active.value}`}
        placeholder="Go to…"
        title="The id of a task or its last characters, an agent, a type, a session or a tag"
        autocomplete="off"
        spellcheck={false}
        onInput={({ currentTarget }) => {
          active.value = -1;
          suggest(currentTarget.value);
        }}
        onKeyDown={onKeyDown}
        onBlur={close}
      />
      <kbd aria-hidden="true">/</kbd>
      <SuggestionList list={list} active={active.value} onChoose={go} />
    </form>
  );
}

type SuggestionListProps = {
  readonly list: readonly Suggestion[];
  readonly active: number;
  readonly onChoose: (href: string) => void;
};

/** Draws the list below the field. An empty list stays in the page, because the field refers to it. */
function SuggestionList({ list, active, onChoose }: SuggestionListProps): VNode {
  return (
    <div class="jump-list" id="jump-list" role="listbox" aria-label="Suggestions" hidden={list.length === 0}>
      {list.map(({ kind, text, more, href }, index) => (
        <div
          key={`${kind} ${text}`}
          id={`jump-${index}`}
          role="option"
          tabIndex={-1}
          aria-selected={index === active}
          // `onMouseDown` comes before the field loses the focus, which closes the list.
          onMouseDown={(event) => {
            event.preventDefault();
            onChoose(href);
          }}
        >
          <span class="faint">{kind}</span>
          <span class="mono text">{text}</span>
          <span class="muted">{more}</span>
        </div>
      ))}
    </div>
  );
}

/** The suggestions for the last typed text. Their script is loaded with the first suggestion. */
function useSuggestions() {
  const { client, overview } = useConsole();
  const suggestions = useSignal<readonly Suggestion[]>([]);
  const suggester = useRef<Promise<Suggester> | undefined>(undefined);
  const asking = useRef(new AbortController());
  const forget = (): void => {
    asking.current.abort();
    suggestions.value = [];
  };
  useEffect(() => forget, []);
  const suggest = (text: string): void => {
    asking.current.abort();
    asking.current = new AbortController();
    const signal = AbortSignal.any([asking.current.signal, AbortSignal.timeout(LOOK_MS)]);
    const tags = overview.value.peek()?.tags.map(({ tag }) => tag) ?? [];
    suggester.current ??= import('./jump-suggestions.ts').then(({ createSuggester }) =>
      createSuggester(client),
    );
    suggester.current
      .then(({ list }) =>
        list(text, tags, signal, (found) => {
          suggestions.value = found;
        }),
      )
      // If the gateway does not respond, there are fewer suggestions. The page says so elsewhere.
      .catch(() => undefined);
  };
  return { suggestions, suggest, forget };
}
