/** The keys of the console, with the commands that every page has. */
import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import { useEffect } from 'preact/hooks';
import { useConsole } from '../gateway/console.ts';
import { loadLater } from '../parts/load-later.tsx';
import { hrefOf, navigate } from '../routing/routes.ts';
import { installKeys, useCommands } from './commands.ts';
import { moveFocus, openRow } from './rows.ts';

const Help = loadLater(() => import('./help.tsx').then((part) => part.Help));
const isOpen = signal(false);
const closeHelp = (): void => {
  isOpen.value = false;
};

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
  return isOpen.value ? <Help onClose={closeHelp} /> : null;
}
