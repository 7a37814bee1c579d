/** A part of a page that could not be read, while the others are current. */
import type { VNode } from 'preact';
import { useConsole } from '../gateway/console.ts';
import type { Failure } from '../gateway/polling.ts';
import { describeError } from './describe-error.ts';
import { formatAge } from './format.ts';
import { Icon } from './icon.tsx';

export type PartFailedProps = {
  /** Names the part that could not be read: `the agents`. */
  readonly what: string;
  readonly failure: Failure;
  /** Whether there is nothing else on the page. */
  readonly isOnly?: boolean;
};

/**
 * Draws `Could not read the agents. HTTP 503, busy. Trying again in 4 s; the rest of the page is current.`
 */
export function PartFailed({ what, failure, isOnly = false }: PartFailedProps): VNode {
  return (
    <div class="in">
      <p class="verdict t-bad">
        <Icon name="alert" />
        Could not read {what}.
      </p>
      <p class="muted">
        {describeError(failure.error)}. <NextTry failure={failure} />
        {isOnly ? '.' : '; the rest of the page is current.'}
      </p>
    </div>
  );
}

/** Draws `Not read: HTTP 503, busy. Trying again in 4 s.` beside data that is kept, without moving it. */
export function FailureNote({ failure }: { readonly failure: Failure }): VNode {
  return (
    <span class="t-bad cut" title={describeError(failure.error)}>
      Not read: {describeError(failure.error)}. <NextTry failure={failure} />.
    </span>
  );
}

function NextTry({ failure }: { readonly failure: Failure }): VNode {
  const { time } = useConsole();
  const seconds = time.toGatewaySeconds(failure.nextMs) - time.now.value;
  return <>{seconds >= 1 ? `Trying again in ${formatAge(seconds)}` : 'Trying again now'}</>;
}
