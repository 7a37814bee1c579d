/**
 * Writes the output of a command: results to standard output, everything else to standard error. Colours and
 * the status line appear only on a terminal. Standard error contains no secret.
 *
 * Only this file cleans. Whichever command writes, nothing that a terminal obeys gets through, except the
 * colours, the status line, and a carriage return that overwrites its line. If standard output is no
 * terminal, it gets its text unchanged. If standard error does not take its lines, only so many of them wait;
 * further ones are left out and counted.
 */
import { createId } from '../../ids.ts';
import { CommandError, EXIT_CODES } from '../exit-codes.ts';
import { redactSecrets } from './redaction.ts';
import { cleanScreen, cleanText } from './safe-text.ts';

/** The environment variables of the command. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The part of `process.stdout` and `process.stderr` that the terminal uses. */
export type OutStream = {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string, written?: (error?: Error | null) => void): unknown;
};

export type Colour = 'red' | 'green' | 'yellow' | 'cyan' | 'dim' | 'bold';
export type Paint = (colour: Colour, text: string) => string;

/** What one of the two output streams can do. */
type OutputCapabilities = {
  /** Whether the stream is a terminal, not a file or a pipe. */
  readonly isTty: boolean;
  /** The present width of the terminal in columns; undefined if the stream is not a terminal. */
  readonly columns: number | undefined;
  /**
   * Returns the text in a colour; without colours, unchanged. The colour is a mark until the text is written,
   * because the text is cleaned before that.
   */
  readonly paint: Paint;
};

/** One of the two output streams. */
type Output = OutputCapabilities & {
  /** Replaces the marks of colours by what a terminal obeys. The text must be clean. */
  readonly setColours: (text: string) => string;
};

export type Terminal = {
  readonly out: OutputCapabilities;
  readonly err: OutputCapabilities;
  /** Writes to standard output. Resolves once the text is written, and rejects if it can't be. */
  print(text: string): Promise<void>;
  /** Writes one line to standard error, with secrets redacted; its line breaks become spaces. */
  log(line: string): void;
  /** Writes a text of several lines to standard error, as `log` does. */
  logLines(text: string): void;
  /**
   * Replaces the status line on standard error; an empty text removes it. Without a terminal, does nothing.
   */
  showStatus(text: string): void;
  /** Adds secrets that `log` and `showStatus` must replace from now on. */
  redact(secrets: readonly string[]): void;
};

const COLOUR_CODES: Readonly<Record<Colour, readonly [on: number, off: number]>> = {
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
  dim: [2, 22],
  bold: [1, 22],
};
const CLEAR_LINE = '\r\u001b[K';
/** How much may wait until standard error takes it, for example because it is a pipe that nobody reads. */
const WAITING_CHARS_MAX = 1_048_576;

/** Creates the terminal of a command. */
export function createTerminal(stdout: OutStream, stderr: OutStream, env: Environment): Terminal {
  const secrets = new Set<string>();
  const out = createOutput(stdout, env);
  const err = createOutput(stderr, env);
  const writer = createBoundedWriter(stderr);
  let hasStatus = false;

  /** Cleans a text and then redacts it, because what was removed may have split a secret. */
  function renderError(text: string, keepLines: boolean): string {
    return err.setColours(redactSecrets(cleanText(text, keepLines), secrets));
  }

  function showStatus(text: string): void {
    if (!stderr.isTTY || (text === '' && !hasStatus)) return;
    hasStatus = text !== '';
    writer.write(() => CLEAR_LINE + renderError(text, false));
  }

  function log(text: string, keepLines: boolean): void {
    showStatus('');
    writer.write(() => `${renderError(text, keepLines)}\n`);
  }

  return {
    out,
    err,
    showStatus,
    log: (line) => log(line, false),
    logLines: (text) => log(text, true),
    print(text) {
      showStatus('');
      const rendered = out.isTty ? out.setColours(cleanScreen(text)) : text;
      return new Promise((resolve, reject) => {
        stdout.write(rendered, (error) => (error ? reject(explainUnwritten(error)) : resolve()));
      });
    },
    redact(more) {
      for (const secret of more) secrets.add(secret);
    },
  };
}

/** Returns the error of a failed write; it says so if the reader has gone. */
function explainUnwritten(error: NodeJS.ErrnoException): Error {
  if (error.code !== 'EPIPE') return error;
  return new CommandError(EXIT_CODES.readerGone, 'Nothing reads standard output any more.');
}

/**
 * Creates a writer that leaves out what the stream can't take, and says how many writes that were as soon as
 * it can take more. A line that is left out is not even rendered.
 */
function createBoundedWriter(stream: OutStream): { write(render: () => string): void } {
  let waitingChars = 0;
  let leftOut = 0;

  function send(text: string): void {
    waitingChars += text.length;
    stream.write(text, () => {
      waitingChars -= text.length;
      if (leftOut === 0 || waitingChars > WAITING_CHARS_MAX / 2) return;
      const count = leftOut;
      leftOut = 0;
      send(`[${count} lines were left out: standard error was not read]\n`);
    });
  }

  return {
    write(render) {
      if (waitingChars < WAITING_CHARS_MAX) send(render());
      else leftOut += 1;
    },
  };
}

/** Creates one of the streams. Colours need a terminal that supports them, and NO_COLOR unset or empty. */
function createOutput(stream: OutStream, env: Environment): Output {
  const isTty = stream.isTTY === true;
  const hasColours = isTty && !env.NO_COLOR && env.TERM !== 'dumb';
  // Only this process can write such a mark, so no other text can set a colour.
  const id = createId();
  const marks = new RegExp(`<${id}c(\\d+)c>`, 'g');
  return {
    isTty,
    get columns() {
      return isTty ? (stream.columns ?? 80) : undefined;
    },
    paint(colour, text) {
      const [on, off] = COLOUR_CODES[colour];
      return hasColours && text !== '' ? `<${id}c${on}c>${text}<${id}c${off}c>` : text;
    },
    setColours: (text) => text.replaceAll(marks, '\u001b[$1m'),
  };
}
