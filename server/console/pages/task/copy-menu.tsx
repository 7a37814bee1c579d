/** A menu of the ways to copy a submission. */
import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { copyText } from '../../parts/copy-button.tsx';
import { Icon } from '../../parts/icon.tsx';
import { gatewayUrl } from '../../routing/routes.ts';
import { COPY_WAYS, type Submission, writeCopy } from '../submission/copy-as.ts';

export type CopyMenuProps = { readonly submission: Submission };

/** Draws the button and its menu. Arrow keys move in the menu, Escape closes it. */
export function CopyMenu({ submission }: CopyMenuProps): VNode {
  const [isOpen, setOpen] = useState(false);
  const menu = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (isOpen) menu.current?.querySelector<HTMLElement>('[role="menuitem"]')?.focus();
  }, [isOpen]);
  const close = (): void => {
    setOpen(false);
    button.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'Escape') {
      event.preventDefault();
      close();
    }
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const items = [...(menu.current?.querySelectorAll<HTMLElement>('[role="menuitem"]') ?? [])];
    const at = items.findIndex((item) => item.contains(document.activeElement));
    items[(at + step + items.length) % items.length]?.focus();
  };
  return (
    <span class="menu-anchor">
      <button
        ref={button}
        class="btn"
        type="button"
        aria-haspopup="menu"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        <Icon name="copy" />
        Copy as
        <Icon name="down" />
      </button>
      {isOpen && (
        <div
          ref={menu}
          class="menu"
          role="menu"
          tabIndex={-1}
          aria-label="Copy as"
          onKeyDown={onKeyDown}
          onFocusOut={({ relatedTarget }) => {
            if (!(relatedTarget instanceof Node) || !menu.current?.contains(relatedTarget)) setOpen(false);
          }}
        >
          {COPY_WAYS.map(({ way, title }) => (
            <button
              key={way}
              type="button"
              role="menuitem"
              onClick={() => {
                close();
                void copyText(
                  writeCopy(way, submission, gatewayUrl()),
                  `Copied as ${title}, without the secret.`,
                );
              }}
            >
              {title}
            </button>
          ))}
        </div>
      )}
    </span>
  );
}
