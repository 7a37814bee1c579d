/** When a page was last read, and the button that pauses the reads. */
import type { VNode } from 'preact';
import { useConsole } from '../gateway/console.ts';
import type { Watch } from '../gateway/polling.ts';
import { formatAge } from './format.ts';
import { Icon } from './icon.tsx';
import { FailureNote } from './part-failed.tsx';

export type LiveNoteProps = {
  readonly watch: Watch<unknown>;
  /** The order of the rows: `Newest first`. */
  readonly order: string;
};

/** Draws `Newest first, read 1 s ago`, or why it was not read, and Pause or Resume. */
export function LiveNote({ watch, order }: LiveNoteProps): VNode {
  const { polling, time } = useConsole();
  const isPaused = polling.isPaused.value;
  const readAtMs = watch.readAtMs.value;
  const failure = watch.failure.value;
  const age = readAtMs === undefined ? undefined : time.now.value - time.toGatewaySeconds(readAtMs);
  return (
    <>
      {failure ? (
        <FailureNote failure={failure} />
      ) : (
        <span class="muted only-wide">
          {order}
          {age !== undefined && `, read ${formatAge(age)} ago`}
        </span>
      )}
      <button
        class="btn small"
        type="button"
        aria-pressed={isPaused}
        onClick={() => polling.setPaused(!isPaused)}
      >
        <Icon name={isPaused ? 'resume' : 'pause'} />
        {isPaused ? 'Resume' : 'Pause'}
      </button>
    </>
  );
}
