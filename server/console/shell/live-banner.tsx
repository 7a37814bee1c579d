/** The banner that the data is not current, because the gateway or its store does not respond. */
import type { ComponentChildren, VNode } from 'preact';
import { useConsole } from '../gateway/console.ts';
import { describeError } from '../parts/describe-error.ts';
import { formatAge, formatClock } from '../parts/format.ts';
import { Icon } from '../parts/icon.tsx';

/** Draws the banner; nothing while data is current. */
export function LiveBanner(): VNode | null {
  const { live } = useConsole();
  const { kind } = live.value;
  if (kind === 'unreachable') return <Unreachable />;
  return kind === 'store_down' ? <StoreDown /> : null;
}

function Unreachable(): VNode | null {
  const { live, time, overview } = useConsole();
  const state = live.value;
  if (state.kind !== 'unreachable') return null;
  const now = time.now.value;
  const since = time.toGatewaySeconds(state.sinceMs);
  const nextSeconds = time.toGatewaySeconds(state.nextMs) - now;
  const wasRead = overview.readAtMs.value !== undefined;
  return (
    <Banner
      more={
        <>
          {wasRead ? 'This page shows what was known then. ' : ''}Is the process running, and is the way to it
          open? Last error: {describeError(state.error)}.
        </>
      }
      right={
        <>
          <span class="muted nowrap banner-note" aria-hidden="true">
            {nextSeconds >= 1 ? `Next try in ${formatAge(nextSeconds)}` : 'Trying now'}
          </span>
          <button class="btn small" type="button" onClick={() => void overview.refresh()}>
            Try now
          </button>
        </>
      }
    >
      <b>The gateway has not answered</b> <Since since={since} now={now} />.
    </Banner>
  );
}

function StoreDown(): VNode | null {
  const { live, time } = useConsole();
  const state = live.value;
  if (state.kind !== 'store_down') return null;
  return (
    <Banner
      more={
        <>
          Submissions and reports get 503 <code>store_unavailable</code>; SDK clients and agents try again.
          Nothing that was accepted is lost; timeouts are enforced when it is back.
          {state.error !== null && (
            <>
              {' '}
              Last error: <code>{state.error}</code>
            </>
          )}
        </>
      }
    >
      <b>The store has not answered</b> <Since since={state.since} now={time.now.value} />. The gateway
      accepts nothing until it is back.
    </Banner>
  );
}

type BannerProps = {
  /** A sentence: what is wrong, and since when. */
  readonly children: ComponentChildren;
  /** Advice to a person, below the sentence. */
  readonly more: ComponentChildren;
  /** Stands at the right end, such as a button. */
  readonly right?: ComponentChildren;
};

/**
 * Draws a banner, which a screen reader reads at once. Text that changes each second is `aria-hidden`, so
 * that it is not read again and again.
 */
function Banner({ children, more, right }: BannerProps): VNode {
  return (
    <div class="banner bad" role="alert">
      <Icon name="alert" />
      <div>
        {children}
        <p>{more}</p>
      </div>
      <span class="grow" />
      {right}
    </div>
  );
}

/** Draws `since 00:13:58 UTC (34 s)`. Screen readers skip the seconds. */
function Since({ since, now }: { readonly since: number; readonly now: number }): VNode {
  return (
    <>
      since {formatClock(since)} UTC <span aria-hidden="true">({formatAge(now - since)})</span>
    </>
  );
}
