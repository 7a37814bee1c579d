/** The field that goes to a task, an agent, a session or a tag. */
import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { useConsole } from '../gateway/console.ts';
import { describeError } from '../parts/describe-error.ts';
import { Icon } from '../parts/icon.tsx';
import { showToast } from '../parts/toast.tsx';
import { navigate } from '../routing/routes.ts';
import { findTarget, readTarget } from './jump-target.ts';

/** Looking takes no longer. */
const LOOK_MS = 10_000;

/** The field. It has `data-slash`, so that the key `/` gives it the focus. */
export function JumpField(): VNode {
  const { client, overview } = useConsole();
  const field = useRef<HTMLInputElement>(null);
  const looking = useSignal<AbortController | null>(null);
  useEffect(() => () => looking.peek()?.abort(), []);
  const go = (href: string): void => {
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
      const signal = AbortSignal.any([mine.signal, AbortSignal.timeout(LOOK_MS)]);
      const href = await findTarget(text, client, tags, signal);
      if (mine.signal.aborted) return;
      if (href === null) {
        // The text stays, so that it can be changed.
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
  return (
    <form
      class="jump"
      role="search"
      aria-busy={looking.value !== null}
      onSubmit={(event) => {
        event.preventDefault();
        const text = field.current?.value.trim() ?? '';
        if (text === '') return;
        const href = readTarget(text);
        if (href === null) void look(text);
        else go(href);
      }}
    >
      <Icon name="search" />
      <input
        ref={field}
        type="search"
        data-slash
        aria-label="Go to a task, agent, session or tag"
        placeholder="Go to…"
        title="The id of a task or its last 8 characters, an agent, a session or a tag"
        autocomplete="off"
        spellcheck={false}
      />
      <kbd aria-hidden="true">/</kbd>
    </form>
  );
}
