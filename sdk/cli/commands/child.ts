/**
 * A program run for one task: in a process group of its own, so that whatever it starts ends with it; what it writes
 * is read with a limit.
 */
import { spawn } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Readable } from 'node:stream';
import { createMarkerFilter } from './progress-markers.ts';

export type ChildOptions = {
  /** Handed to the program on standard input. */
  readonly input: string;
  readonly env: NodeJS.ProcessEnv;
  /** Ends the program: SIGTERM to its group, and SIGKILL after `killAfterMs`. */
  readonly signal: AbortSignal;
  readonly killAfterMs: number;
  /** More than so many bytes of output are not kept. */
  readonly outputBytesMax: number;
  readonly onProgress: (percent: number) => void;
  /** Told what it writes to standard error. */
  readonly onErrorText: (text: string) => void;
};

export type ChildEnd = {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  /** What it wrote to standard output. */
  readonly output: string;
  /** There was more of it than is kept. */
  readonly truncated: boolean;
  /** The last lines it wrote to standard error. */
  readonly lastWords: string;
};

/** Whoever it started and left behind may finish writing for so long. */
const LINGER_MS = 1_000;
const LAST_LINES_MAX = 20;
const LAST_CHARS_MAX = 2_000;

/** The programs that run: also when this process leaves at once, or fails, none of them stays behind. */
const living = new Set<number>();
process.on('exit', () => {
  for (const pid of living) signalGroup(pid, 'SIGKILL');
});

/** Runs a program to its end. Rejects if it can't be started; any way it ends is an answer. */
export async function runChild(command: readonly string[], options: ChildOptions): Promise<ChildEnd> {
  const [file = '', ...args] = command;
  const child = spawn(file, args, { detached: true, env: options.env, stdio: ['pipe', 'pipe', 'pipe'] });
  if (child.pid !== undefined) living.add(child.pid);
  const timers: NodeJS.Timeout[] = [];
  const later = (ms: number, act: () => void): void => void timers.push(setTimeout(act, ms));
  const terminate = (): void => {
    signalGroup(child.pid, 'SIGTERM');
    later(options.killAfterMs, () => signalGroup(child.pid, 'SIGKILL'));
  };
  const output = createKeeper(options.outputBytesMax);
  const errors = createTail();
  const { onProgress } = options;
  readText(child.stdout, { onProgress, pass: output.add });
  readText(child.stderr, {
    onProgress,
    pass(text) {
      errors.add(text);
      options.onErrorText(text);
    },
  });
  // A program need not read what it is given.
  child.stdin.on('error', () => undefined);
  child.stdin.end(options.input);
  if (options.signal.aborted) terminate();
  options.signal.addEventListener('abort', terminate, { once: true });
  try {
    const [exitCode, signal] = await new Promise<[number | null, NodeJS.Signals | null]>(
      (resolve, reject) => {
        child.once('error', reject);
        child.once('close', (...end) => resolve(end));
        child.once('exit', () => {
          later(LINGER_MS, terminate);
          // A process that left the group can still hold the pipes.
          later(LINGER_MS + options.killAfterMs + LINGER_MS, () => {
            child.stdout.destroy();
            child.stderr.destroy();
          });
        });
      },
    );
    return { exitCode, signal, ...output.read(), lastWords: errors.read() };
  } finally {
    options.signal.removeEventListener('abort', terminate);
    for (const timer of timers) clearTimeout(timer);
    signalGroup(child.pid, 'SIGKILL');
    living.delete(child.pid ?? 0);
  }
}

/** To the program and all it started. That nobody is left is fine. */
function signalGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, signal);
  } catch {
    // All of them have ended.
  }
}

function readText(stream: Readable, deps: Parameters<typeof createMarkerFilter>[0]): void {
  const decoder = new TextDecoder();
  const filter = createMarkerFilter(deps);
  stream.on('data', (bytes: Uint8Array) => filter.write(decoder.decode(bytes, { stream: true })));
  stream.on('end', () => {
    filter.write(decoder.decode());
    filter.end();
  });
}

/** Keeps text up to a number of bytes, whole characters only. */
function createKeeper(bytesMax: number) {
  const kept: Buffer[] = [];
  let bytes = 0;
  let truncated = false;
  return {
    add(text: string): void {
      if (truncated) return;
      const piece = Buffer.from(text);
      truncated = bytes + piece.length > bytesMax;
      kept.push(truncated ? piece.subarray(0, bytesMax - bytes) : piece);
      bytes += piece.length;
    },
    read(): { output: string; truncated: boolean } {
      const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(Buffer.concat(kept), {
        stream: truncated,
      });
      return { output: text, truncated };
    },
  };
}

/** Keeps the last lines. */
function createTail() {
  let text = '';
  return {
    add(more: string): void {
      text = (text + more).slice(-LAST_CHARS_MAX);
    },
    read: (): string => text.trim().split('\n').slice(-LAST_LINES_MAX).join('\n'),
  };
}

/** Whether a program of that name would be found. */
export function canRun(name: string, env: NodeJS.ProcessEnv): boolean {
  const folders = name.includes('/') ? [''] : (env.PATH ?? '').split(delimiter);
  return folders.some((folder) => {
    const path = folder === '' ? name : join(folder, name);
    try {
      accessSync(path, constants.X_OK);
      return statSync(path).isFile();
    } catch {
      return false;
    }
  });
}
