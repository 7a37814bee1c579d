/** A button that copies a text to the clipboard. */
import type { ComponentChildren, VNode } from 'preact';
import { Icon } from './icon.tsx';
import { showToast } from './toast.tsx';

/** Copies a text, and shows a toast: that it was copied, or why not. */
export async function copyText(text: string, done: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    showToast({ tone: 'info', text: done });
  } catch {
    showToast({ tone: 'bad', text: 'The browser does not let this page copy. Select the text and copy it.' });
  }
}

export type CopyButtonProps = {
  readonly text: string;
  /** The button's name for a screen reader: `Copy the id`. */
  readonly label: string;
  /** Shown once the text is copied: `Copied the id.` */
  readonly done: string;
  /** Words beside the icon. Without them the button is a small square. */
  readonly children?: ComponentChildren;
};

export function CopyButton({ text, label, done, children }: CopyButtonProps): VNode {
  return (
    <button
      class={children === undefined ? 'btn icon small quiet' : 'btn'}
      type="button"
      aria-label={label}
      title={label}
      onClick={() => void copyText(text, done)}
    >
      <Icon name="copy" />
      {children}
    </button>
  );
}
