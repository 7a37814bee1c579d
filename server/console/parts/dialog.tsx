/**
 * A dialog over the page. It holds the focus while it is open, closes with Esc, and then returns the focus.
 */
import type { ComponentChildren, VNode } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';

export type DialogProps = {
  readonly title: string;
  /** `alertdialog` asks before something that cannot be undone. Default: `dialog`. */
  readonly role?: 'dialog' | 'alertdialog';
  /** The text of the dialog. One element may have `class="box"` for a quotation. */
  readonly children: ComponentChildren;
  /** The buttons. The harmless one has `data-autofocus`, so that it has the focus first. */
  readonly footer?: ComponentChildren;
  /** Called for Esc and for a click beside the dialog. */
  readonly onClose: () => void;
};

/** Draws a modal dialog. The browser keeps the focus in it and makes the rest of the page inert. */
export function Dialog({ title, role = 'dialog', children, footer, onClose }: DialogProps): VNode {
  const element = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const before = document.activeElement;
    const dialog = element.current;
    dialog?.showModal();
    dialog?.querySelector<HTMLElement>('[data-autofocus]')?.focus();
    return () => {
      dialog?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={element}
      class="dialog"
      role={role}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        if (event.target === element.current) onClose();
      }}
    >
      <div>
        <h2 id={titleId}>{title}</h2>
        {children}
      </div>
      {footer !== undefined && <footer>{footer}</footer>}
    </dialog>
  );
}
