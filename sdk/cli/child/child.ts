/**
 * Runs a program as a child process. It gets a process group of its own, so that all processes it starts end
 * with it. Its output is kept up to a limit. If the system has no files or processes left, the start is tried
 * again until it has.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { systemClock } from '../../clock.ts';
import { startTimer } from '../timers.ts';
import { checkFreeFiles, FILES_PER_START } from './executables.ts';
import type { GroupWatch } from './group-watch.ts';
import { createForwarding, createLines, createOutputBuffer, createTail } from './kept-output.ts';
import {
  createProgressMarkerFilter,
  createProgressReader,
  type ProgressMarkerOptions,
} from './progress-markers.ts';

export type ChildOptions = {
  /** What the program gets on standard input. */
  readonly input: string;
  readonly env: NodeJS.ProcessEnv;
  /** Ends the program: its process group gets SIGTERM, and SIGKILL after `killAfterMs`. */
  readonly signal: AbortSignal;
  readonly killAfterMs: number;
  /** How many bytes of standard output are kept. */
  readonly outputBytesMax: number;
  /** Called with the percentage of each progress marker, and of each match of `progress`. */
  readonly onProgress: (percent: number) => void;
  /** Finds percentages in the output. */
  readonly progress?: RegExp | undefined;
  /**
   * Called with what the program writes to standard output. If that is more than the gateway takes, it gets
   * the beginning, and at last the end. While the promise of the last call is pending, nothing more is read.
   */
  readonly onOutputText?: ((text: string) => Promise<void>) | undefined;
  /** Called with each line that the program writes to standard error. */
  readonly onErrorLine: (line: string) => void;
  /**
   * Called with the reason, such as EMFILE, when the start has to wait, and with undefined when the wait is
   * over.
   */
  readonly onShortage?: ((code: string | undefined) => void) | undefined;
  /** Ends the program if this process ends and can't do so itself. */
  readonly watch?: GroupWatch | undefined;
  /** The entry of `env` (`NAME=value`) that no other program has: by it the watch knows the program. */
  readonly watchedEntry?: string | undefined;
};

export type ChildExit = {
  /** Null if a signal ended the program. */
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  /** The program's standard output, without progress markers. */
  readonly output: string;
  /** Whether the program wrote more than `output` holds. What is missing stood before the last 64 KiB. */
  readonly truncated: boolean;
  /** The last lines that the program wrote to standard error; if it wrote none there, to standard output. */
  readonly lastLines: string;
};

/** How long background processes of the program may still write after the program exited. */
const LINGER_MS = 1_000;
/** How often a start is tried again. */
const START_EVERY_MS = 250;
/** The error codes of a system whose files, memory or processes are used up; all of that may pass. */
const SHORTAGES: ReadonlySet<unknown> = new Set(['EMFILE', 'ENFILE', 'EAGAIN', 'ENOMEM']);

/** The programs that run now. When this process exits, for whatever reason, it kills them. */
const runningPids = new Set<number>();
process.on('exit', () => {
  for (const pid of runningPids) signalGroup(pid, 'SIGKILL');
});

/**
 * Runs a program until it exits. Rejects if the program can't be started; and with the signal's reason, if
 * the signal fires before the system has what the start needs.
 */
export async function runChild(command: readonly string[], options: ChildOptions): Promise<ChildExit> {
  const child = await startChild(command, options);
  const { pid } = child;
  runningPids.add(pid);
  const timers: (() => void)[] = [];
  const schedule = (ms: number, act: () => void): void => void timers.push(startTimer(ms, act));
  const terminate = (): void => {
    signalGroup(pid, 'SIGTERM');
    schedule(options.killAfterMs, () => signalGroup(pid, 'SIGKILL'));
  };
  const { output, texts, errors, errorLines, forwarding, whileHeld } = readOutput(child, options);
  /** Stops reading. The program has ended, and nothing may hold it back any longer. */
  const closeOutput = (): void => {
    const held = whileHeld();
    if (held) void held.then(() => schedule(LINGER_MS, closeOutput));
    else child.stdout.destroy();
  };
  // A program may exit without reading its input.
  child.stdin.on('error', () => undefined);
  child.stdin.end(options.input);
  if (options.signal.aborted) terminate();
  options.signal.addEventListener('abort', terminate, { once: true });
  try {
    const [exitCode, signal] = await new Promise<[number | null, NodeJS.Signals | null]>(
      (resolve, reject) => {
        child.once('error', reject);
        child.once('close', (...exit) => resolve(exit));
        child.once('exit', () => {
          schedule(LINGER_MS, terminate);
          // A process that left the group survives the signals, and may hold the pipes open.
          schedule(LINGER_MS + options.killAfterMs + LINGER_MS, () => {
            child.stderr.destroy();
            closeOutput();
          });
        });
      },
    );
    await whileHeld();
    errorLines.end();
    // As before the end, what can't be written is no fault of the program.
    await forwarding?.end().catch(() => undefined);
    return { exitCode, signal, ...output.read(), lastLines: errors.read() || texts.read() };
  } finally {
    options.signal.removeEventListener('abort', terminate);
    for (const stop of timers) stop();
    signalGroup(pid, 'SIGKILL');
    runningPids.delete(pid);
    options.watch?.remove(pid);
  }
}

type StartedChild = ChildProcess & {
  readonly pid: number;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
};

/**
 * Starts the program, with as many attempts as it takes until the system has what the start needs. The watch
 * knows of the program before it starts, because this process may end at any moment.
 */
async function startChild(command: readonly string[], options: ChildOptions): Promise<StartedChild> {
  const { watch, watchedEntry = '', onShortage, signal } = options;
  const expecting = watch?.expect(watchedEntry);
  // No pause, if there is nothing to wait for: that there are files for the program was just checked.
  if (expecting) await expecting;
  try {
    for (;;) {
      const started = await tryStart(command, options).catch(readShortage);
      if (typeof started === 'object') {
        watch?.add(started.pid, watchedEntry);
        onShortage?.(undefined);
        return started;
      }
      onShortage?.(started);
      await systemClock.sleep(START_EVERY_MS, signal);
      signal.throwIfAborted();
    }
  } catch (error) {
    watch?.forget(watchedEntry);
    throw error;
  }
}

/** Returns what the system lacks. Throws any other error. */
function readShortage(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (!SHORTAGES.has(code)) throw error;
  return String(code);
}

/** Starts the child. One that can't be started has no id, and possibly no streams; its error follows. */
function tryStart([file = '', ...args]: readonly string[], { env }: ChildOptions): Promise<StartedChild> {
  return new Promise((resolve, reject) => {
    if (!checkFreeFiles(FILES_PER_START)) {
      reject(Object.assign(new Error('There are no files for the program.'), { code: 'EMFILE' }));
      return;
    }
    const child = spawn(file, args, { detached: true, env, stdio: 'pipe' });
    child.on('error', reject);
    if (isStarted(child)) resolve(child);
  });
}

function isStarted(child: ChildProcess): child is StartedChild {
  return child.pid !== undefined && child.stdin !== null && child.stdout !== null && child.stderr !== null;
}

/** Sends a signal to the program and all processes it started. Does nothing if all of them have exited. */
function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, signal);
  } catch {
    // No process of the group is left.
  }
}

function readOutput(child: StartedChild, options: ChildOptions) {
  const { onProgress, progress } = options;
  const output = createOutputBuffer(options.outputBytesMax);
  const texts = createTail();
  const errors = createTail();
  const errorLines = createLines(options.onErrorLine);
  const forwarding = options.onOutputText && createForwarding(options.onOutputText);
  const readProgress = (): ((text: string) => void) | undefined =>
    progress && createProgressReader(progress, onProgress);
  const [inOutput, inErrors] = [readProgress(), readProgress()];
  let taken: Promise<void> = Promise.resolve();
  let held: Promise<void> | undefined;
  readText(child.stdout, inOutput, { onProgress, onText: addOutput });

  function addOutput(text: string): void {
    output.add(text);
    texts.add(text);
    if (!forwarding) return;
    taken = taken.then(() => forwarding.add(text)).catch(() => undefined);
    // This is needed each time, because Node reads on by itself when the program exits.
    child.stdout.pause();
    held ??= holdBack();
  }

  /** Reads on once everything that was read is taken. */
  async function holdBack(): Promise<void> {
    for (let awaited: Promise<void> | undefined; awaited !== taken; ) {
      awaited = taken;
      await awaited;
    }
    held = undefined;
    child.stdout.resume();
  }

  readText(child.stderr, inErrors, {
    onProgress,
    onText(text) {
      errors.add(text);
      errorLines.add(text);
    },
  });
  return {
    output,
    texts,
    errors,
    errorLines,
    forwarding,
    /** Returns a promise while the program is held back; it resolves when that is over. */
    whileHeld: () => held,
  };
}

/** Passes each text to `onRead` at once, and to the filter, which keeps it while it may be a marker. */
function readText(
  stream: Readable,
  onRead: ((text: string) => void) | undefined,
  options: ProgressMarkerOptions,
): void {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const filter = createProgressMarkerFilter(options);
  stream.on('data', (bytes: Uint8Array) => {
    const text = decoder.decode(bytes, { stream: true });
    onRead?.(text);
    filter.write(text);
  });
  stream.on('end', () => {
    filter.write(decoder.decode());
    filter.end();
  });
}
