/** Ctrl-C: the first asks a command to end well, the last one leaves at once. */

export type Interrupts = {
  /** Fires at the first Ctrl-C (or SIGTERM). */
  readonly first: AbortSignal;
  /** Fires at the second. */
  readonly second: AbortSignal;
  /** Lets the second be heard too: only the third then leaves at once. */
  allowSecond(): void;
  /** 130 after Ctrl-C, 143 after SIGTERM. */
  exitCode(): number;
};

/** What is needed of `process`. */
export type SignalSource = { on(signal: 'SIGINT' | 'SIGTERM', listener: () => void): unknown };

const CODES = { SIGINT: 130, SIGTERM: 143 } as const;

/** Listens for the signals that ask the command to end. `leave` is called with the exit code when it must at once. */
export function createInterrupts(source: SignalSource, leave: (exitCode: number) => void): Interrupts {
  const first = new AbortController();
  const second = new AbortController();
  let times = 0;
  let patience = 1;
  let exitCode: number = CODES.SIGINT;

  function hear(signal: 'SIGINT' | 'SIGTERM'): void {
    times += 1;
    exitCode = CODES[signal];
    if (times > patience) {
      leave(exitCode);
      return;
    }
    (times === 1 ? first : second).abort();
  }

  source.on('SIGINT', () => hear('SIGINT'));
  source.on('SIGTERM', () => hear('SIGTERM'));
  return {
    first: first.signal,
    second: second.signal,
    allowSecond() {
      patience = 2;
    },
    exitCode: () => exitCode,
  };
}
