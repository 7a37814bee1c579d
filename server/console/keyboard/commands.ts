/**
 * Runs commands by key. Each part of a page names the commands it has while it is shown. If several parts
 * have a command, the part that was shown last runs it: a dialog before the page behind it.
 */
import { signal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { type CommandName, type Prefix, readKey } from './keys.ts';

export type Commands = { readonly [Name in CommandName]?: () => void };

const STORED_AS = 'task-gateway.single-keys';
const layers: { commands: Commands; isModal: boolean }[] = [];

/** Whether single keys run commands. Kept for this tab. */
export const singleKeys = signal(readStored());

function readStored(): boolean {
  return typeof sessionStorage === 'undefined' || sessionStorage.getItem(STORED_AS) !== 'off';
}

export function setSingleKeys(isOn: boolean): void {
  singleKeys.value = isOn;
  if (isOn) sessionStorage.removeItem(STORED_AS);
  else sessionStorage.setItem(STORED_AS, 'off');
}

/**
 * Registers the commands of a part while it is shown. While a modal part is shown, the commands of parts
 * behind it do not run.
 */
export function useCommands(commands: Commands, { isModal = false } = {}): void {
  const layer = useRef({ commands, isModal });
  layer.current.commands = commands;
  // Registered when the part is drawn, so that the next key already finds it.
  useLayoutEffect(() => {
    const mine = layer.current;
    layers.push(mine);
    return () => void layers.splice(layers.indexOf(mine), 1);
  }, []);
}

/** Listens to the keys of a document. Returns a function that ends this. */
export function installKeys(root: Document): () => void {
  let prefix: Prefix = null;
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.defaultPrevented || event.isComposing) return;
    const { key, ctrlKey, metaKey, altKey, shiftKey, target } = event;
    const element = target instanceof Element ? target : null;
    const press = {
      key,
      ctrlKey,
      metaKey,
      altKey,
      shiftKey,
      isInField: element !== null && checkField(element),
      isOnControl: element?.closest('button, a, summary, select, input') != null,
    };
    const read = readKey(press, prefix, event.timeStamp, singleKeys.peek());
    prefix = read.prefix;
    if (read.command !== null && runCommand(read.command)) event.preventDefault();
  };
  root.addEventListener('keydown', onKeyDown);
  return () => root.removeEventListener('keydown', onKeyDown);
}

/** Runs a command. Returns false if no shown part has it. */
function runCommand(name: CommandName): boolean {
  for (const { commands, isModal } of layers.toReversed()) {
    const run = commands[name];
    if (run) {
      run();
      return true;
    }
    if (isModal) return false;
  }
  return false;
}

function checkField(element: Element): boolean {
  if (element instanceof HTMLInputElement) return !['checkbox', 'radio', 'button'].includes(element.type);
  return element.closest('textarea, select, [contenteditable="true"], [role="menu"]') !== null;
}
