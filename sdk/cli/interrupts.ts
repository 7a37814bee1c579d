/**
 * Handles Ctrl-C (SIGINT), SIGTERM and a closed terminal (SIGHUP). The first signal asks the command to stop
 * in an orderly way; a later one ends the process at once. npm and npx signal only the shell in which they
 * start a command: there the end of that shell counts as SIGTERM. For a command that needs a reader of its
 * output, a reader that goes away counts as SIGPIPE, which Node itself ignores.
 *
 *     running ──1st──▶ stopping ──2nd──▶ exit at once
 *                          └── 2nd, after allowSecond() ──▶ stopping faster ──3rd──▶ exit at once
 *
 * Until a command has asked for a signal, the system ends the process at the first one. Before that the
 * process reads files of secrets and contexts and runs programs that print secrets, and its code could not
 * act.
 */
import { EXIT_CODES } from './exit-codes.ts';

export type Interrupts = {
  /** Fires at the first signal. */
  readonly first: AbortSignal;
  /** Fires at the second signal, if `allowSecond` was called before it. */
  readonly second: AbortSignal;
  /** Lets the command handle the second signal too; the third then ends the process. May be called again. */
  allowSecond(): void;
  /** Makes a reader of the output that goes away stop the command like a signal. May be called again. */
  needReader(): void;
  /** Notes that nothing reads the output any more. Returns whether the command therefore stops. */
  loseReader(): boolean;
  /** The exit code for the latest signal: 130 for SIGINT, 143 for SIGTERM, 129 for SIGHUP, else 141. */
  exitCode(): number;
};

type SignalName = 'SIGINT' | 'SIGTERM' | 'SIGHUP' | 'SIGPIPE';

/** The part of `process` that this file uses. */
export type SignalSource = { on(signal: SignalName, listener: () => void): unknown };

const SIGNAL_EXIT_CODES: Readonly<Record<SignalName, number>> = {
  SIGINT: EXIT_CODES.interrupted,
  SIGTERM: 143,
  SIGHUP: 129,
  SIGPIPE: EXIT_CODES.readerGone,
};

export type InterruptOptions = {
  readonly hasTerminal?: boolean;
  /** Returns the parent's process id, if the end of the parent must end this process too. */
  readonly readParent?: () => number;
};

/** How often the parent is checked. */
const PARENT_CHECK_MS = 500;

/**
 * Listens for the signals from the first use on. When the process must end at once, calls `exitNow` with the
 * exit code. SIGHUP counts if there is a terminal that may have been closed. Without one it is ignored, as
 * `nohup` asks, because Node does not keep the setting of `nohup`.
 */
export function createInterrupts(
  source: SignalSource,
  exitNow: (exitCode: number) => void,
  { hasTerminal = false, readParent }: InterruptOptions = {},
): Interrupts {
  const first = new AbortController();
  const second = new AbortController();
  let received = 0;
  let handledMax = 1;
  let needsReader = false;
  let exitCode = SIGNAL_EXIT_CODES.SIGINT;

  function handleSignal(signal: SignalName): void {
    received += 1;
    exitCode = SIGNAL_EXIT_CODES[signal];
    if (received > handledMax) {
      exitNow(exitCode);
      return;
    }
    (received === 1 ? first : second).abort();
  }

  let isListening = false;
  const listen = (): void => {
    if (isListening) return;
    isListening = true;
    source.on('SIGINT', () => handleSignal('SIGINT'));
    source.on('SIGTERM', () => handleSignal('SIGTERM'));
    if (hasTerminal) source.on('SIGHUP', () => handleSignal('SIGHUP'));
  };
  if (!hasTerminal) source.on('SIGHUP', () => undefined);
  if (readParent) {
    const parent = readParent();
    const timer = setInterval(() => {
      if (readParent() === parent) return;
      clearInterval(timer);
      if (isListening) handleSignal('SIGTERM');
      else exitNow(SIGNAL_EXIT_CODES.SIGTERM);
    }, PARENT_CHECK_MS);
    timer.unref();
  }
  return {
    get first() {
      listen();
      return first.signal;
    },
    get second() {
      listen();
      return second.signal;
    },
    allowSecond() {
      listen();
      handledMax = 2;
    },
    needReader() {
      needsReader = true;
    },
    loseReader() {
      // Each further write fails too, and must not count again.
      if (needsReader && received === 0) handleSignal('SIGPIPE');
      return needsReader;
    },
    exitCode: () => exitCode,
  };
}

/** Returns a promise that never resolves, and rejects with the created error once the signal is aborted. */
export function rejectOnAbort(signal: AbortSignal, createError: () => Error): Promise<never> {
  return new Promise((_resolve, reject) => {
    const fail = (): void => reject(createError());
    if (signal.aborted) fail();
    signal.addEventListener('abort', fail, { once: true });
  });
}
