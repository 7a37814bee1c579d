/** A pusher without a network: each endpoint answers as the test says, or keeps its connection open. */
import type { Push, Pusher, PushOutcome } from '../../server/ports/pusher.ts';

export type FakePusher = Pusher & {
  /** Every attempt, in order. */
  readonly sent: readonly Push[];
  /** What an endpoint answers from now on; `hang` leaves connections open until `answer()`. */
  script(endpoint: string, answer: PushOutcome | 'hang'): void;
  /** Answers the open connections of an endpoint, oldest first; says how many there were. */
  answer(endpoint: string, outcome: PushOutcome): number;
  /** Connections without an answer. */
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
export const BROKEN: PushOutcome = {
  kind: 'unknown',
  status: 500,
  error: 'answered 500',
  retryAfterMs: null,
};

/** Creates a pusher whose endpoints answer 202 until told otherwise. */
export function createFakePusher(): FakePusher {
  const sent: Push[] = [];
  const scripts = new Map<string, PushOutcome | 'hang'>();
  const hanging: { push: Push; resolve: (outcome: PushOutcome) => void }[] = [];

  return {
    sent,
    script: (endpoint, answer) => void scripts.set(endpoint, answer),
    open: () => hanging.map(({ push }) => push),
    answer(endpoint, outcome) {
      const theirs = hanging.filter(({ push }) => push.endpoint === endpoint);
      for (const one of theirs) {
        hanging.splice(hanging.indexOf(one), 1);
        one.resolve(outcome);
      }
      return theirs.length;
    },
    push(push, signal) {
      sent.push(push);
      const answer = scripts.get(push.endpoint) ?? TAKEN;
      if (answer !== 'hang') return Promise.resolve(answer);
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
