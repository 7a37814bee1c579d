/**
 * Runs a program as a child process. It gets a process group of its own, so that all processes it starts end
 * with it. Its output is kept up to a limit.
 */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Readable } from 'node:stream';
import { createProgressMarkerFilter, type ProgressMarkerOptions } from './progress-markers.ts';

export type ChildOptions = {
  /** Written to the program's standard input. */
  readonly input: string;
  readonly env: NodeJS.ProcessEnv;
  /** Ends the program: its process group gets SIGTERM, and SIGKILL after `killAfterMs`. */
  readonly signal: AbortSignal;
  readonly killAfterMs: number;
  /** Standard output is cut after this many bytes. */
  readonly outputBytesMax: number;
  /** Called with the percentage of each progress marker. */
  readonly onProgress: (percent: number) => void;
  /** Called with what the program writes to standard error. */
  readonly onErrorText: (text: string) => void;
};

export type ChildExit = {
  /** Null if a signal ended the program. */
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  /** What the program wrote to standard output, without progress markers. */
  readonly output: string;
  /** The program wrote more than `output` holds. */
  readonly truncated: boolean;
  /** The last lines that the program wrote to standard error. */
  readonly errorTail: string;
};

/** How long background processes of the program may still write after the program exited. */
const LINGER_MS = 1_000;
const TAIL_LINES_MAX = 20;
const TAIL_CHARS_MAX = 2_000;

/** The programs that run now. They are killed when this process exits, for whatever reason. */
const runningPids = new Set<number>();
process.on('exit', () => {
  for (const pid of runningPids) signalGroup(pid, 'SIGKILL');
});

/** Runs a program until it exits. Rejects only if the program can't be started. */
export async function runChild(command: readonly string[], options: ChildOptions): Promise<ChildExit> {
  const [file = '', ...args] = command;
  const child = spawn(file, args, { detached: true, env: options.env, stdio: ['pipe', 'pipe', 'pipe'] });
  if (child.pid !== undefined) runningPids.add(child.pid);
  const timers: NodeJS.Timeout[] = [];
  const schedule = (ms: number, act: () => void): void => void timers.push(setTimeout(act, ms));
  const terminate = (): void => {
    signalGroup(child.pid, 'SIGTERM');
    schedule(options.killAfterMs, () => signalGroup(child.pid, 'SIGKILL'));
  };
  const { output, errors } = readOutput(child, options);
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
          // A process that left the group survives the signals and may hold the pipes open.
          schedule(LINGER_MS + options.killAfterMs + LINGER_MS, () => {
            child.stdout.destroy();
            child.stderr.destroy();
          });
        });
      },
    );
    return { exitCode, signal, ...output.read(), errorTail: errors.read() };
  } finally {
    options.signal.removeEventListener('abort', terminate);
    for (const timer of timers) clearTimeout(timer);
    signalGroup(child.pid, 'SIGKILL');
    runningPids.delete(child.pid ?? 0);
  }
}

/** Sends a signal to the program and all processes it started. Does nothing if all of them have exited. */
function signalGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, signal);
  } catch {
    // No process of the group is left.
  }
}

function readOutput(child: ChildProcessWithoutNullStreams, options: ChildOptions) {
  const { onProgress } = options;
  const output = createOutputBuffer(options.outputBytesMax);
  const errors = createTail();
  readText(child.stdout, { onProgress, onText: output.add });
  readText(child.stderr, {
    onProgress,
    onText(text) {
      errors.add(text);
      options.onErrorText(text);
    },
  });
  return { output, errors };
}

function readText(stream: Readable, options: ProgressMarkerOptions): void {
  const decoder = new TextDecoder();
  const filter = createProgressMarkerFilter(options);
  stream.on('data', (bytes: Uint8Array) => filter.write(decoder.decode(bytes, { stream: true })));
  stream.on('end', () => {
    filter.write(decoder.decode());
    filter.end();
  });
}

/** Keeps text up to a number of bytes; the cut never splits a character. */
function createOutputBuffer(bytesMax: number) {
  const chunks: Buffer[] = [];
  let bytes = 0;
  let truncated = false;
  return {
    add(text: string): void {
      if (truncated) return;
      const chunk = Buffer.from(text);
      truncated = bytes + chunk.length > bytesMax;
      chunks.push(truncated ? chunk.subarray(0, bytesMax - bytes) : chunk);
      bytes += chunk.length;
    },
    read(): { output: string; truncated: boolean } {
      const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(Buffer.concat(chunks), {
        stream: truncated,
      });
      return { output: text, truncated };
    },
  };
}

/** Keeps the last lines of a text. */
function createTail() {
  let text = '';
  return {
    add(more: string): void {
      text = (text + more).slice(-TAIL_CHARS_MAX);
    },
    read: (): string => text.trim().split('\n').slice(-TAIL_LINES_MAX).join('\n'),
  };
}

/** Whether there is an executable file of that name or path. */
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
