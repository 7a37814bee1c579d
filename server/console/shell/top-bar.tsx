/**
 * The top bar: the pages, the field that goes to an id, the number of problems, whether data is live, the
 * theme and signing out.
 */
import type { VNode } from 'preact';
import { useConsole } from '../gateway/console.ts';
import type { LiveState } from '../gateway/live-state.ts';
import { Brand } from '../parts/brand.tsx';
import { Icon, type IconName } from '../parts/icon.tsx';
import { countProblems, describeProblems } from '../parts/problem-words.ts';
import { address, gatewayUrl, hrefOf, type Route } from '../routing/routes.ts';
import { toggleTheme } from '../theme.ts';
import { JumpField } from './jump-field.tsx';

type Entry = { readonly route: Route; readonly name: string; readonly pages: readonly Route['page'][] };

const ENTRIES: readonly Entry[] = [
  { route: { page: 'overview' }, name: 'Overview', pages: ['overview'] },
  { route: { page: 'tasks' }, name: 'Tasks', pages: ['tasks', 'task'] },
  { route: { page: 'agents' }, name: 'Agents', pages: ['agents', 'agent'] },
  { route: { page: 'events' }, name: 'Events', pages: ['events'] },
  { route: { page: 'submit' }, name: 'Submit', pages: ['submit'] },
];

export function TopBar(): VNode {
  const { live, signOut } = useConsole();
  return (
    <header class="top">
      <a class="brand" href={hrefOf({ page: 'overview' })} aria-label="Task Gateway, overview">
        <Brand />
      </a>
      <nav class="nav" aria-label="Pages">
        {ENTRIES.map(({ route, name, pages }) => (
          <a
            key={name}
            href={hrefOf(route)}
            {...(pages.includes(address.value.route.page) && { 'aria-current': 'page' as const })}
          >
            {name}
          </a>
        ))}
      </nav>
      <span class="grow" />
      <JumpField />
      <Problems />
      <Live state={live.value} />
      <a class="btn small quiet only-wide" href={`${gatewayUrl()}/docs`}>
        API
      </a>
      <button
        class="btn icon quiet"
        type="button"
        aria-label="Change between light and dark"
        title="Light or dark"
        onClick={toggleTheme}
      >
        <Icon name="theme" />
      </button>
      <button
        class="btn icon quiet"
        type="button"
        aria-label="Forget the secret and sign out"
        title="Sign out"
        onClick={signOut}
      >
        <Icon name="lock" />
      </button>
    </header>
  );
}

/** Draws the number of present problems, as a link to them; nothing while data is not current. */
function Problems(): VNode | null {
  const { overview, live } = useConsole();
  const problems = overview.value.value?.problems;
  if (!problems || live.value.kind === 'unreachable') return null;
  const href = `${hrefOf({ page: 'overview' })}#wrong`;
  const { problems: serious, warnings } = countProblems(problems);
  if (serious + warnings === 0) {
    return (
      <a class="problems ok" href={href}>
        <Icon name="check" />
        <span>No problems</span>
      </a>
    );
  }
  const text = describeProblems(problems);
  return (
    <a class={`problems ${serious > 0 ? 'bad' : 'wait'}`} href={href} aria-label={`${text} now`}>
      <Icon name={serious > 0 ? 'alert' : 'warn'} />
      <span class="only-wide">{text}</span>
      <b class="only-narrow">{serious > 0 ? serious : warnings}</b>
    </a>
  );
}

const LIVE: Readonly<Record<LiveState['kind'], { icon: IconName; text: string; class: string }>> = {
  starting: { icon: 'pending', text: 'Reading', class: 'live reading' },
  live: { icon: 'dot', text: 'Live', class: 'live' },
  paused: { icon: 'pause', text: 'Paused', class: 'live reading' },
  unreachable: { icon: 'cross', text: 'Not live', class: 'live stale' },
  store_down: { icon: 'cross', text: 'Not live', class: 'live stale' },
};

function Live({ state }: { readonly state: LiveState }): VNode {
  const look = LIVE[state.kind];
  return (
    <span class={look.class}>
      <Icon name={look.icon} />
      <span class="w">{look.text}</span>
    </span>
  );
}
