/** Which command a key press runs: alone, in pairs, in fields and where single keys are switched off. */
import { describe, expect, test } from 'vitest';
import { HELP } from '../../server/console/keyboard/help.tsx';
import { type KeyPress, type Prefix, readKey } from '../../server/console/keyboard/keys.ts';

function press(key: string, more: Partial<KeyPress> = {}): KeyPress {
  return {
    key,
    ctrlKey: false,
    metaKey: false,
    altKey: false,
    shiftKey: false,
    isInField: false,
    isOnControl: false,
    ...more,
  };
}

const commandOf = (one: KeyPress, isOn = true): string | null => readKey(one, null, 0, isOn).command;

test.each([
  ['/', 'go_to'],
  ['f', 'filter'],
  ['j', 'row_down'],
  ['ArrowDown', 'row_down'],
  ['k', 'row_up'],
  ['ArrowUp', 'row_up'],
  ['Enter', 'row_open'],
  ['x', 'row_select'],
  ['X', 'row_select_range'],
  ['a', 'select_all'],
  ['c', 'cancel'],
  ['r', 'submit_again'],
  ['y', 'copy_id'],
  ['u', 'up'],
  ['p', 'pause'],
  ['n', 'show_new'],
  ['?', 'help'],
  ['Escape', 'close'],
  ['q', null],
  ['toString', null],
])('%s is %s', (key, command) => {
  expect(commandOf(press(key))).toBe(command);
});

describe('pairs', () => {
  const after: Prefix = { key: 'g', atMs: 0 };

  test.each([
    ['o', 'page_overview'],
    ['t', 'page_tasks'],
    ['a', 'page_agents'],
    ['e', 'page_events'],
    ['s', 'page_submit'],
    ['x', null],
  ])('g and then %s is %s', (key, command) => {
    const first = readKey(press('g'), null, 0, true);
    expect(first).toEqual({ command: null, prefix: after });
    expect(readKey(press(key), first.prefix, 1_500, true)).toEqual({ command, prefix: null });
  });

  test('too late, the second key is what it is alone', () => {
    expect(readKey(press('a'), after, 1_501, true).command).toBe('select_all');
  });

  test('Shift alone does not end a pair', () => {
    expect(readKey(press('Shift'), after, 100, true).prefix).toEqual(after);
  });
});

test.each(['j', 'x', '/', 'Enter', 'ArrowDown', 'g', '?'])('%s is the field’s in a field', (key) => {
  expect(readKey(press(key, { isInField: true }), null, 0, true)).toEqual({ command: null, prefix: null });
});

test.each(['j', 'x', '/', 'c', 'g', '?'])('%s is nothing where single keys are switched off', (key) => {
  expect(commandOf(press(key), false)).toBeNull();
});

test('arrows, Escape and Ctrl Enter are never off', () => {
  expect(['ArrowDown', 'Escape'].map((key) => commandOf(press(key), false))).toEqual(['row_down', 'close']);
  expect(commandOf(press('Enter', { ctrlKey: true, isInField: true }), false)).toBe('submit');
  expect(commandOf(press('Escape', { isInField: true }), false)).toBe('close');
});

test('keys with Ctrl, Alt or Meta are the browser’s', () => {
  expect(commandOf(press('f', { ctrlKey: true }))).toBeNull();
  expect(commandOf(press('a', { metaKey: true }))).toBeNull();
  expect(commandOf(press('ArrowUp', { altKey: true }))).toBeNull();
});

test('Enter on a button or a link presses it', () => {
  expect(commandOf(press('Enter', { isOnControl: true }))).toBeNull();
});

test('the help names each key once', () => {
  const keys = HELP.map((one) => one.keys.join(' '));
  expect(new Set(keys).size).toBe(keys.length);
});
