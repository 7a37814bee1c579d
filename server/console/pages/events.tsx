/** The stream of one session, as its client sees it: newest first, with cursors. */
import type { VNode } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { useConsole } from '../gateway/console.ts';
import { useCommands } from '../keyboard/commands.ts';
import { readFocusedId } from '../keyboard/rows.ts';
import { copyText } from '../parts/copy-button.tsx';
import { formatNumber } from '../parts/format.ts';
import { Icon } from '../parts/icon.tsx';
import { NewRows } from '../parts/new-rows.tsx';
import { PageButtons } from '../parts/page-buttons.tsx';
import { usePageTitle } from '../parts/page-title.ts';
import { Panel } from '../parts/panel.tsx';
import { address, changeSearch } from '../routing/routes.ts';
import { EventRows } from './events/event-rows.tsx';
import { RecentSessions } from './events/recent-sessions.tsx';
import { type SessionEvents, useHeld, useSessionEvents } from './events/use-events.ts';

const PAGE_SIZE = 50;

/** Draws the page. Its address has the session, and the cursor to follow from. */
export function EventsPage(): VNode {
  const { client, polling } = useConsole();
  const query = new URLSearchParams(address.value.search);
  const session = query.get('session') || null;
  const after = query.get('after') || null;
  const isPaused = polling.isPaused.value;
  const events = useSessionEvents(session, after, isPaused);
  usePageTitle('Events');
  useCommands({
    show_new: events.showNew,
    copy_id: () => {
      const id = readFocusedId();
      if (id !== null) void copyText(id, 'Copied the id.');
    },
  });
  const follow = (next: string, cursor: string | null = null): void => {
    const search = new URLSearchParams({ session: next, ...(cursor === null ? {} : { after: cursor }) });
    changeSearch(`?${search}`, { push: true });
  };
  return (
    <>
      <div class="head">
        <h1>Events</h1>
        <span class="muted">the stream of one session, as its client sees it</span>
      </div>
      <div class="filters">
        <SessionField session={session} onFollow={follow} />
        <button
          class="btn"
          type="button"
          aria-pressed={isPaused}
          onClick={() => {
            polling.setPaused(!isPaused);
            if (isPaused) events.showNew();
          }}
        >
          <Icon name={isPaused ? 'resume' : 'pause'} />
          {isPaused ? 'Resume' : 'Pause'}
        </button>
        <button
          class="btn"
          type="button"
          aria-disabled={session === null || after === null}
          title={after === null ? 'It is read from the start.' : ''}
          onClick={() => session !== null && after !== null && follow(session)}
        >
          From the start
        </button>
      </div>
      {!client.hasGatewaySecret && (
        <p class="muted">Sign in with the gateway secret to read a session’s events.</p>
      )}
      {session === null && (
        <>
          <p class="muted events-note">
            Write a session above, or choose one: it is the <code>cli_session_id</code> of its tasks.
          </p>
          <RecentSessions />
        </>
      )}
      {session !== null && client.hasGatewaySecret && (
        <EventPanel key={`${session}\n${after}`} {...{ events, session, after }} />
      )}
    </>
  );
}

type SessionFieldProps = { readonly session: string | null; readonly onFollow: (session: string) => void };

function SessionField({ session, onFollow }: SessionFieldProps): VNode {
  const [text, setText] = useState('');
  return (
    <form
      class="tokens"
      onSubmit={(event) => {
        event.preventDefault();
        const typed = text.trim().replace(/^session=/, '');
        setText('');
        if (typed !== '') onFollow(typed);
      }}
    >
      {session !== null && (
        <span class="token" title={session}>
          <b>session=</b>
          <span class="only-token">{session}</span>
        </span>
      )}
      <input
        type="text"
        data-filter
        aria-label="Session"
        placeholder={session === null ? 'a session' : 'another session'}
        autocomplete="off"
        spellcheck={false}
        value={text}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
      />
    </form>
  );
}

type EventPanelProps = {
  readonly events: SessionEvents;
  readonly session: string;
  readonly after: string | null;
};

function EventPanel({ events, session, after }: EventPanelProps): VNode {
  const { list, isHeld, hasGap } = events;
  const { shown, waiting, dropped } = list.value;
  const rows = useRef<HTMLDivElement>(null);
  const [first, setFirst] = useState(0);
  // On later pages new events wait, so that the rows of a page stay on it.
  useHeld(rows, shown.length > 0, isHeld, first > 0);
  const showNew = (): void => {
    setFirst(0);
    events.showNew();
  };
  return (
    <Panel
      title="task_done"
      note={<Connection events={events} />}
      right={
        <>
          <NewRows count={waiting.length} onShow={showNew} />
          <span class="note">
            newest first, {after === null ? 'read back to the start' : `read back to ${after}`}
          </span>
        </>
      }
    >
      {hasGap.value && <p class="in t-wait">Some events were deleted before they could be read.</p>}
      {shown.length === 0 ? (
        <p class="in muted">No event yet. One comes when a task of this session ends.</p>
      ) : (
        <div class="scroll" ref={rows}>
          <EventRows events={shown.slice(first, first + PAGE_SIZE)} session={session} />
        </div>
      )}
      {shown.length > PAGE_SIZE && <EventPager first={first} count={shown.length} onFirst={setFirst} />}
      {dropped > 0 && <p class="in muted">{formatNumber(dropped)} older events are not shown.</p>}
    </Panel>
  );
}

type EventPagerProps = {
  /** How many newer events stand before the page. */
  readonly first: number;
  readonly count: number;
  readonly onFirst: (first: number) => void;
};

/** Draws the pages of the events that are kept here. */
function EventPager({ first, count, onFirst }: EventPagerProps): VNode {
  const show = (next: number): void => {
    onFirst(next);
    scrollTo(0, 0);
  };
  const last = Math.min(first + PAGE_SIZE, count);
  return (
    <div class="pager">
      <span>
        {formatNumber(first + 1)} to {formatNumber(last)} of {formatNumber(count)}
      </span>
      <PageButtons
        onNewer={first > 0 ? () => show(Math.max(0, first - PAGE_SIZE)) : undefined}
        onOlder={last < count ? () => show(last) : undefined}
      />
    </div>
  );
}

/** Draws whether the stream is open. */
function Connection({ events }: { readonly events: SessionEvents }): VNode {
  const state = events.state.value;
  if (state.kind === 'open') return <span>open</span>;
  if (state.kind === 'connecting') return <span>connecting…</span>;
  const more = state.kind === 'down' ? 'connecting again' : 'not opened again';
  return (
    <span class="t-bad">
      {state.text}, {more}
    </span>
  );
}
