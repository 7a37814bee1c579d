/** The frame of every page: the skip link, the top bar, the banner, the page and the toasts. */
import type { ComponentChildren, VNode } from 'preact';
import { useConsole } from '../gateway/console.ts';
import { isCurrent } from '../gateway/live-state.ts';
import { Keyboard } from '../keyboard/keyboard.tsx';
import { Toasts } from '../parts/toast.tsx';
import { UnderWay } from '../parts/under-way.tsx';
import { LiveBanner } from './live-banner.tsx';
import { Patterns } from './patterns.tsx';
import { StaleNote } from './stale-note.tsx';
import { TopBar } from './top-bar.tsx';

/** Draws the frame around a page. Data that is not current has no colour. */
export function Frame({ children }: { readonly children: ComponentChildren }): VNode {
  const { live } = useConsole();
  const isStale = !isCurrent(live.value);
  return (
    <>
      <Patterns />
      <a class="skip" href="#main">
        Skip to content
      </a>
      <TopBar />
      <LiveBanner />
      <main class={isStale ? 'page stale-data' : 'page'} id="main" tabIndex={-1}>
        {isStale && <StaleNote />}
        {children}
      </main>
      <UnderWay />
      <Toasts />
      <Keyboard />
    </>
  );
}
