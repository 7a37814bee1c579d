/**
 * Results of actions, at the bottom right. Each stays for 6 s, or longer while the pointer or the focus is on
 * it; an error stays until it is closed. The polite live region of the page reads them.
 */
import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import { Icon, type IconName } from './icon.tsx';

export type Toast = {
  /** `ok`: all went well; `bad`: something failed; `info`: anything else. */
  readonly tone: 'ok' | 'bad' | 'info';
  readonly text: string;
};

type Shown = Toast & { readonly id: number };

const SHOWN_MS = 6_000;
const SHOWN_MAX = 4;
const ICONS: Readonly<Record<Toast['tone'], IconName>> = { ok: 'check', bad: 'alert', info: 'info' };

const shown = signal<readonly Shown[]>([]);
/** The text of the polite live region: the last result, or that new tasks wait. */
const announced = signal('');
let lastId = 0;

export function showToast(toast: Toast): void {
  lastId += 1;
  shown.value = [...shown.value, { ...toast, id: lastId }].slice(-SHOWN_MAX);
  announce(toast.text);
}

/** Makes a screen reader say a sentence when it is idle. */
export function announce(text: string): void {
  announced.value = text;
}

function closeToast(id: number): void {
  shown.value = shown.value.filter((one) => one.id !== id);
}

const timers = new Map<number, ReturnType<typeof setTimeout>>();

function startTimer({ id, tone }: Shown): void {
  stopTimer(id);
  if (tone !== 'bad')
    timers.set(
      id,
      setTimeout(() => closeToast(id), SHOWN_MS),
    );
}

function stopTimer(id: number): void {
  clearTimeout(timers.get(id));
  timers.delete(id);
}

/** Draws the present toasts, and the live region. */
export function Toasts(): VNode {
  return (
    <>
      <div class="toasts">
        {shown.value.map((one) => (
          <ToastEntry key={one.id} toast={one} />
        ))}
      </div>
      <div class="vh" role="status" aria-live="polite">
        {announced}
      </div>
    </>
  );
}

function ToastEntry({ toast }: { readonly toast: Shown }): VNode {
  const { id, tone, text } = toast;
  const keep = (): void => stopTimer(id);
  const release = (): void => startTimer(toast);
  return (
    <div
      class="toast"
      ref={(element) => {
        if (element && !timers.has(id)) startTimer(toast);
      }}
      onMouseEnter={keep}
      onMouseLeave={release}
      onFocusIn={keep}
      onFocusOut={release}
    >
      <Icon name={ICONS[tone]} class={tone === 'info' ? 'muted' : `t-${tone}`} />
      <span>{text}</span>
      <button class="btn icon small quiet" type="button" aria-label="Close" onClick={() => closeToast(id)}>
        <Icon name="cross" />
      </button>
    </div>
  );
}
