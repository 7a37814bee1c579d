/** The action on many tasks that runs now. Every page shows it, and it goes on while the console is open. */
import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import { useEffect } from 'preact/hooks';

/** Its progress in words, and a function that stops it; null if none runs. */
export const underWay = signal<{ readonly text: string; readonly stop: () => void } | null>(null);

/** Draws the progress and the stop. Closing the tab asks first; signing out stops the action. */
export function UnderWay(): VNode | null {
  const isRunning = underWay.value !== null;
  useEffect(() => () => underWay.peek()?.stop(), []);
  useEffect(() => {
    if (!isRunning) return;
    const ask = (event: Event): void => event.preventDefault();
    addEventListener('beforeunload', ask);
    return () => removeEventListener('beforeunload', ask);
  }, [isRunning]);
  if (underWay.value === null) return null;
  const { text, stop } = underWay.value;
  return (
    <section class="bulk" aria-label="Action under way">
      <b>{text}</b>
      <button class="btn small" type="button" onClick={stop}>
        Stop
      </button>
    </section>
  );
}
