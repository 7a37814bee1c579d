/**
 * The keys and their commands. `readKey` says which command an event is, given the key before it. Pure.
 *
 * Single keys are off in fields, and if a person has switched them off. Escape, and Ctrl Enter in a form, are
 * never off. Keys with Ctrl, Alt or Meta are the browser's.
 */

export type CommandName =
  | 'go_to'
  | 'filter'
  | 'page_overview'
  | 'page_tasks'
  | 'page_agents'
  | 'page_events'
  | 'page_submit'
  | 'row_down'
  | 'row_up'
  | 'row_open'
  | 'row_select'
  | 'row_select_range'
  | 'select_all'
  | 'cancel'
  | 'submit_again'
  | 'copy_id'
  | 'up'
  | 'pause'
  | 'show_new'
  | 'help'
  | 'close'
  | 'submit';

/** The part of a keyboard event that `readKey` needs. */
export type KeyPress = {
  readonly key: string;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly altKey: boolean;
  readonly shiftKey: boolean;
  /** Whether the focus is in a field that takes text or has keys of its own. */
  readonly isInField: boolean;
  /** Whether the focus is on a button or a link, which Enter and Space press. */
  readonly isOnControl: boolean;
};

/** The first key of a pair, and when it was pressed. */
export type Prefix = { readonly key: 'g'; readonly atMs: number } | null;
export type Read = { readonly command: CommandName | null; readonly prefix: Prefix };

const PREFIX_MS = 1_500;
const PAGES: Readonly<Record<string, CommandName>> = {
  o: 'page_overview',
  t: 'page_tasks',
  a: 'page_agents',
  e: 'page_events',
  s: 'page_submit',
};
const SINGLE: Readonly<Record<string, CommandName>> = {
  '/': 'go_to',
  f: 'filter',
  j: 'row_down',
  k: 'row_up',
  x: 'row_select',
  X: 'row_select_range',
  a: 'select_all',
  c: 'cancel',
  r: 'submit_again',
  y: 'copy_id',
  u: 'up',
  p: 'pause',
  n: 'show_new',
  '?': 'help',
};
/** Keys that work even if single keys are switched off. */
const ALWAYS: Readonly<Record<string, CommandName>> = { ArrowDown: 'row_down', ArrowUp: 'row_up' };

/** Finds the command of a key press. `prefix` is what `readKey` returned last. */
export function readKey(press: KeyPress, prefix: Prefix, nowMs: number, areSingleKeysOn: boolean): Read {
  const nothing: Read = { command: null, prefix: null };
  if (press.key === 'Escape') return { command: 'close', prefix: null };
  if (press.key === 'Enter' && (press.ctrlKey || press.metaKey)) return { command: 'submit', prefix: null };
  if (press.ctrlKey || press.metaKey || press.altKey || press.isInField) return nothing;
  if (press.key === 'Shift') return { command: null, prefix };
  const always = pick(ALWAYS, press.key);
  if (always) return { command: always, prefix: null };
  if (press.key === 'Enter') return press.isOnControl ? nothing : { command: 'row_open', prefix: null };
  if (!areSingleKeysOn) return nothing;
  const isPair = prefix !== null && nowMs - prefix.atMs <= PREFIX_MS;
  if (isPair) return { command: pick(PAGES, press.key) ?? null, prefix: null };
  if (press.key === 'g') return { command: null, prefix: { key: 'g', atMs: nowMs } };
  return { command: pick(SINGLE, press.key) ?? null, prefix: null };
}

function pick(map: Readonly<Record<string, CommandName>>, key: string): CommandName | undefined {
  return Object.hasOwn(map, key) ? map[key] : undefined;
}
