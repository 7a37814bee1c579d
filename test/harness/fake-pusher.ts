/** A pusher without a network: each endpoint responds as the test says, or keeps its connection open. */
import type { Push, Pusher, PushOutcome } from '../../server/ports/pusher.ts';

export type FakePusher = Pusher & {
  /** Every attempt, in order. */
  readonly sent: readonly Push[];
  /** Sets how an endpoint responds from now on. `hang` leaves connections open until `respond()`. */
  script(endpoint: string, outcome: PushOutcome | 'hang'): void;
  /** Responds to the open connections of an endpoint, oldest first. Returns how many there were. */
  respond(endpoint: string, outcome: PushOutcome): number;
  /** Pushes without a response. */
  open(): readonly Push[];
};

export const TAKEN: PushOutcome = { kind: 'acknowledged', status: 202 };
export const REFUSED: PushOutcome = {
  kind: 'untaken',
  status: null,
  error: 'connection refused',
  busy: false,
  leave: false,
  retryAfterMs: null,
};
export const BUSY: PushOutcome = { ...REFUSED, status: 503, error: 'busy', busy: true };
export const GONE: PushOutcome = { ...REFUSED, status: 410, error: 'gone', leave: true };
export const SIGNATURE_REFUSED: PushOutcome = {
  ...REFUSED,
  status: 401,
  error: 'answered 401: signature refused',
};
export const BROKEN: PushOutcome = {
  kind: 'unknown',
  status: 500,
  error: 'responded with 500',
  retryAfterMs: null,
};

/** Creates a pusher whose endpoints respond with 202 by default. */
export function createFakePusher(): FakePusher {
  const sent: Push[] = [];
  const scripts = new Map<string, PushOutcome | 'hang'>();
  const hanging: { push: Push; resolve: (outcome: PushOutcome) => void }[] = [];

  return {
    sent,
    script: (endpoint, outcome) => void scripts.set(endpoint, outcome),
    open: () => hanging.map(({ push }) => push),
    respond(endpoint, outcome) {
      const open = hanging.filter(({ push }) => push.endpoint === endpoint);
      for (const one of open) {
        hanging.splice(hanging.indexOf(one), 1);
        one.resolve(outcome);
      }
      return open.length;
    },
    push(push, signal) {
      sent.push(push);
      const outcome = scripts.get(push.endpoint) ?? TAKEN;
      if (outcome !== 'hang') return Promise.resolve(outcome);
      return new Promise((resolve) => {
        const one = { push, resolve };
        hanging.push(one);
        signal.addEventListener('abort', () => {
          if (hanging.includes(one)) hanging.splice(hanging.indexOf(one), 1);
          resolve({ kind: 'unknown', status: null, error: 'abandoned', retryAfterMs: null });
        });
      });
    },
    close: () => Promise.resolve(),
  };
}
