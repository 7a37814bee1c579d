/**
 * Ctrl-C, SIGTERM, and the terminal that is closed: the first asks a command to end well, the last one leaves at once.
 */

export type Interrupts = {
  /** Fires at the first of them. */
  readonly first: AbortSignal;
  /** Fires at the second. */
  readonly second: AbortSignal;
  /** Lets the second be heard too: only the third then leaves at once. */
  allowSecond(): void;
  /** 130 after Ctrl-C, 143 after SIGTERM, 129 after the terminal was closed. */
  exitCode(): number;
};

type Signal = 'SIGINT' | 'SIGTERM' | 'SIGHUP';

/** What is needed of `process`. */
export type SignalSource = { on(signal: Signal, listener: () => void): unknown };

const CODES: Readonly<Record<Signal, number>> = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 };

/**
 * Listens for the signals that ask the command to end. `leave` is called with the exit code when it must at once. A
 * closed terminal counts where there is one: a listener would undo what `nohup` has set.
 */
export function createInterrupts(
  source: SignalSource,
  leave: (exitCode: number) => void,
  { hasTerminal = false }: { readonly hasTerminal?: boolean } = {},
): Interrupts {
  const first = new AbortController();
  const second = new AbortController();
  let times = 0;
  let patience = 1;
  let exitCode = CODES.SIGINT;

  function hear(signal: Signal): void {
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
  if (hasTerminal) source.on('SIGHUP', () => hear('SIGHUP'));
  return {
    first: first.signal,
    second: second.signal,
    allowSecond() {
      patience = 2;
    },
    exitCode: () => exitCode,
  };
}
