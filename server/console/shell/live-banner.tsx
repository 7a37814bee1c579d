/** The banner of a console whose data is not current: the gateway or its store does not respond. */
import type { ComponentChildren, VNode } from 'preact';
import { useConsole } from '../gateway/console.ts';
import { describeError } from '../parts/describe-error.ts';
import { formatAge, formatClock } from '../parts/format.ts';
import { Icon } from '../parts/icon.tsx';

/** The banner, or nothing while all is well. */
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
  /** The sentence: what is wrong, since when. */
  readonly children: ComponentChildren;
  /** Further advice to a person, below it. */
  readonly more: ComponentChildren;
  /** At its right end, such as a button. */
  readonly right?: ComponentChildren;
};

/** A screen reader reads it at once. A text that changes each second is `aria-hidden`, so that it is once. */
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

/** `since 00:13:58 UTC (34 s)`; the seconds are not read out each time they change. */
function Since({ since, now }: { readonly since: number; readonly now: number }): VNode {
  return (
    <>
      since {formatClock(since)} UTC <span aria-hidden="true">({formatAge(now - since)})</span>
    </>
  );
}
