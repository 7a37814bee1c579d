/** Builds what a signed-in console shares: client, poll, the gateway's time, and what follows from them. */
import { computed, effect } from '@preact/signals';
import { AuthenticationError } from '@task-gateway/sdk';
import { createConsoleClient } from './client.ts';
import type { Console } from './console.ts';
import { createGatewayTime } from './gateway-time.ts';
import { decideLiveState, isCurrent, type LiveState } from './live-state.ts';
import { createPolling, type PollClock } from './polling.ts';
import { forgetSecrets, type Secrets } from './secrets.ts';

const browserClock: PollClock = {
  nowMs: () => performance.timeOrigin + performance.now(),
  schedule(afterMs, callback) {
    const timer = setTimeout(callback, afterMs);
    return () => clearTimeout(timer);
  },
};

/** Creates the console of a reader and starts to read the overview. */
export function createConsole(secrets: Secrets): Console & { stop(): void } {
  const client = createConsoleClient(secrets);
  const polling = createPolling(browserClock);
  const time = createGatewayTime(browserClock);
  const overview = polling.watch(client.readOverview());
  const live = computed(() =>
    decideLiveState(
      overview.value.value,
      overview.failure.value,
      overview.readAtMs.value,
      polling.isPaused.value,
    ),
  );
  const hasGatewaySecret = secrets.gateway !== '';
  const isReadOnly = computed(() => overview.value.value?.console === 'read-only');
  const onVisibility = (): void => polling.setVisible(document.visibilityState === 'visible');
  document.addEventListener('visibilitychange', onVisibility);
  const effects = [
    effect(() => {
      const read = overview.value.value;
      if (read?.store.ok) time.noteTime(read.time);
    }),
    effect(() => time.setCurrent(isCurrent(live.value))),
    effect(() => {
      if (overview.failure.value?.error instanceof AuthenticationError) forgetSecrets(REFUSED);
    }),
  ];
  return {
    client,
    polling,
    time,
    overview,
    live,
    changeRefusal: computed(() => describeRefusal(live.value, isReadOnly.value)),
    submitRefusal: computed(
      () =>
        describeRefusal(live.value, isReadOnly.value) ??
        (hasGatewaySecret ? null : 'Sign in with the gateway secret to submit.'),
    ),
    signOut: () => forgetSecrets(),
    stop() {
      document.removeEventListener('visibilitychange', onVisibility);
      for (const dispose of effects) dispose();
      overview.stop();
      time.stop();
    },
  };
}

/** Shown on the page for signing in when a secret is no longer accepted. */
const REFUSED = 'The gateway no longer accepts this secret.';

/** Explains why nothing can be changed now; null if changes are possible. */
function describeRefusal(live: LiveState, isReadOnly: boolean): string | null {
  if (isReadOnly) return 'This console only reads: it was started with CONSOLE=read-only.';
  if (live.kind === 'unreachable') return 'Actions are off until the gateway answers.';
  if (live.kind === 'store_down') return 'Actions are off until the store answers.';
  return null;
}
