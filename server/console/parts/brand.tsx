/** The mark and the name, for a link or the head of a card. */
import type { VNode } from 'preact';

export function Brand(): VNode {
  return (
    <>
      <svg viewBox="0 0 20 20" class="logo" aria-hidden="true">
        <path d="M3 3v14M17 3v14M6.5 10h6.5m0 0-2.8-2.8M13 10l-2.8 2.8" />
      </svg>
      <span>Task Gateway</span>
    </>
  );
}
