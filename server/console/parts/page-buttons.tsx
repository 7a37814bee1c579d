/** The buttons to the newer and the older rows of a list, newest first. */
import type { VNode } from 'preact';

export type PageButtonsProps = {
  /** Undefined if there are no such rows. */
  readonly onNewer: (() => void) | undefined;
  readonly onOlder: (() => void) | undefined;
};

export function PageButtons({ onNewer, onOlder }: PageButtonsProps): VNode {
  const draw = (text: string, onClick: (() => void) | undefined): VNode => (
    <button class="btn small" type="button" aria-disabled={onClick === undefined} onClick={onClick}>
      {text}
    </button>
  );
  return (
    <>
      <span class="grow" />
      {draw('Newer', onNewer)}
      {draw('Older', onOlder)}
    </>
  );
}
