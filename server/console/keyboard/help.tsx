/** The help on keys, and the switch for single keys. The commands that every page has are here too. */
import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import { useEffect } from 'preact/hooks';
import { useConsole } from '../gateway/console.ts';
import { Dialog } from '../parts/dialog.tsx';
import { hrefOf, navigate } from '../routing/routes.ts';
import { installKeys, setSingleKeys, singleKeys, useCommands } from './commands.ts';
import { HELP } from './keys.ts';
import { moveFocus, openRow } from './rows.ts';

const isOpen = signal(false);

/** Listens to the keys of the page, runs the commands that every page has, and shows the help. */
export function Keyboard(): VNode | null {
  const { polling } = useConsole();
  useEffect(() => installKeys(document), []);
  const focus = (selector: string) => () => document.querySelector<HTMLElement>(selector)?.focus();
  useCommands({
    go_to: focus('[data-slash]'),
    filter: focus('[data-filter]'),
    page_overview: () => navigate(hrefOf({ page: 'overview' })),
    page_tasks: () => navigate(hrefOf({ page: 'tasks' })),
    page_agents: () => navigate(hrefOf({ page: 'agents' })),
    page_events: () => navigate(hrefOf({ page: 'events' })),
    page_submit: () => navigate(hrefOf({ page: 'submit' })),
    row_down: () => moveFocus(1),
    row_up: () => moveFocus(-1),
    row_open: openRow,
    pause: () => polling.setPaused(!polling.isPaused.peek()),
    help: () => {
      isOpen.value = true;
    },
    close: () => {
      if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
    },
  });
  return isOpen.value ? <Help /> : null;
}

function Help(): VNode {
  const close = (): void => {
    isOpen.value = false;
  };
  useCommands({ close, help: close }, { isModal: true });
  return (
    <Dialog
      title="Keys"
      onClose={close}
      footer={
        <button class="btn" type="button" data-autofocus onClick={close}>
          Close
        </button>
      }
    >
      <dl class="keys">
        {HELP.map(({ keys, does }) => (
          <div key={does}>
            <dt>
              {keys.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <label class="keys-switch">
        <input
          class="check"
          type="checkbox"
          checked={singleKeys.value}
          onChange={({ currentTarget }) => setSingleKeys(currentTarget.checked)}
        />
        Single keys run commands. They are off in fields.
      </label>
    </Dialog>
  );
}
