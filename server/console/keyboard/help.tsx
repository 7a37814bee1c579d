/** The help on keys, and the switch for single keys. It is loaded when a person first asks for it. */
import type { VNode } from 'preact';
import { Dialog } from '../parts/dialog.tsx';
import { setSingleKeys, singleKeys, useCommands } from './commands.ts';

export const HELP: readonly { readonly keys: readonly string[]; readonly does: string }[] = [
  { keys: ['/'], does: 'Go to a task, agent, session or tag' },
  { keys: ['f'], does: 'Filter' },
  { keys: ['g', 'o'], does: 'Overview' },
  { keys: ['g', 't'], does: 'Tasks' },
  { keys: ['g', 'a'], does: 'Agents' },
  { keys: ['g', 'e'], does: 'Events' },
  { keys: ['g', 's'], does: 'Submit' },
  { keys: ['j', 'k'], does: 'Next row, row before it; arrows too' },
  { keys: ['Enter'], does: 'Open the row' },
  { keys: ['x'], does: 'Select the row; Shift x: all up to it' },
  { keys: ['a'], does: 'Select all that match' },
  { keys: ['c'], does: 'Cancel' },
  { keys: ['r'], does: 'Submit again' },
  { keys: ['y'], does: 'Copy the id' },
  { keys: ['u'], does: 'Up to the list' },
  { keys: ['n'], does: 'Show new rows' },
  { keys: ['p'], does: 'Pause' },
  { keys: ['Ctrl', 'Enter'], does: 'Submit the form' },
  { keys: ['Esc'], does: 'Close, clear the selection' },
  { keys: ['?'], does: 'This help' },
];

/** Draws the help. Its button and its keys call `onClose`. */
export function Help({ onClose }: { readonly onClose: () => void }): VNode {
  useCommands({ close: onClose, help: onClose }, { isModal: true });
  return (
    <Dialog
      title="Keys"
      onClose={onClose}
      footer={
        <button class="btn" type="button" data-autofocus onClick={onClose}>
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
