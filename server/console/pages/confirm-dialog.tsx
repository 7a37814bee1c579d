/** The question before something that cannot be undone, or that affects many tasks. */
import type { ComponentChildren, VNode } from 'preact';
import { useState } from 'preact/hooks';
import { useCommands } from '../keyboard/commands.ts';
import { Dialog } from '../parts/dialog.tsx';
import { formatNumber } from '../parts/format.ts';

type ConfirmDialogProps = {
  readonly title: string;
  readonly keep: string;
  readonly confirm: string;
  readonly isDanger?: boolean;
  /** Why it cannot be confirmed yet; null if it can. */
  readonly refusal?: string | null;
  /** The number that a person must type first. Default: none. */
  readonly typed?: number | null;
  readonly onClose: () => void;
  readonly onConfirm: () => void;
  readonly children: ComponentChildren;
};

/** Draws the dialog. The harmless button has the focus. */
export function ConfirmDialog(props: ConfirmDialogProps): VNode {
  const {
    title,
    keep,
    confirm,
    isDanger = false,
    refusal = null,
    typed = null,
    onClose,
    onConfirm,
    children,
  } = props;
  const [text, setText] = useState('');
  const isTyped = typed === null || text.replace(/[ ,]/g, '') === String(typed);
  const isReady = refusal === null && isTyped;
  useCommands({ close: onClose }, { isModal: true });
  return (
    <Dialog
      title={title}
      role="alertdialog"
      onClose={onClose}
      footer={
        <>
          <button class="btn" type="button" data-autofocus onClick={onClose}>
            {keep}
          </button>
          <button
            class={isDanger ? 'btn danger solid' : 'btn primary'}
            type="button"
            aria-disabled={!isReady}
            title={refusal ?? (isTyped ? '' : 'Type the number first.')}
            onClick={() => isReady && onConfirm()}
          >
            {confirm}
          </button>
        </>
      }
    >
      {children}
      {typed !== null && (
        <label class="row">
          <span class="label">Type {formatNumber(typed)} to go on</span>
          <input
            type="text"
            inputmode="numeric"
            autocomplete="off"
            value={text}
            onInput={({ currentTarget }) => setText(currentTarget.value)}
          />
        </label>
      )}
    </Dialog>
  );
}
