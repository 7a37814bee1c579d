/**
 * Writes the output of a command: results to standard output, everything else to standard error. Colours and
 * the status line appear only on a terminal. What goes to standard error contains no secret.
 */
import { redactSecrets } from './redaction.ts';

/** The environment variables of the command. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** What the terminal needs of `process.stdout` and `process.stderr`. */
export type OutStream = {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string, written?: (error?: Error | null) => void): unknown;
};

export type Colour = 'red' | 'green' | 'yellow' | 'cyan' | 'dim' | 'bold';
export type Paint = (colour: Colour, text: string) => string;

/** What one of the two output streams can show. */
type OutputCapabilities = {
  /** Whether the stream is a terminal, not a file or a pipe. */
  readonly isTty: boolean;
  /** The current width of the terminal in columns; undefined if the stream is not a terminal. */
  readonly columns: number | undefined;
  /** Returns the text in a colour; without colours, returns it unchanged. */
  readonly paint: Paint;
};

export type Terminal = {
  readonly out: OutputCapabilities;
  readonly err: OutputCapabilities;
  /** Writes to standard output. Resolves once the text is written, and rejects if it can't be. */
  print(text: string): Promise<void>;
  /** Writes a line to standard error, without the redacted secrets. */
  log(line: string): void;
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

/** Creates the terminal of a command. */
export function createTerminal(stdout: OutStream, stderr: OutStream, env: Environment): Terminal {
  const secrets = new Set<string>();
  let hasStatus = false;

  function showStatus(text: string): void {
    if (!stderr.isTTY || (text === '' && !hasStatus)) return;
    hasStatus = text !== '';
    stderr.write(CLEAR_LINE + redactSecrets(text, secrets));
  }

  return {
    out: detectCapabilities(stdout, env),
    err: detectCapabilities(stderr, env),
    showStatus,
    log(line) {
      showStatus('');
      stderr.write(`${redactSecrets(line, secrets)}\n`);
    },
    print(text) {
      showStatus('');
      return new Promise((resolve, reject) => {
        stdout.write(text, (error) => (error ? reject(error) : resolve()));
      });
    },
    redact(more) {
      for (const secret of more) secrets.add(secret);
    },
  };
}

/** Colours need a terminal that supports them, and NO_COLOR unset or empty. */
function detectCapabilities(stream: OutStream, env: Environment): OutputCapabilities {
  const isTty = stream.isTTY === true;
  const hasColours = isTty && !env.NO_COLOR && env.TERM !== 'dumb';
  return {
    isTty,
    get columns() {
      return isTty ? (stream.columns ?? 80) : undefined;
    },
    paint(colour, text) {
      const [on, off] = COLOUR_CODES[colour];
      return hasColours && text !== '' ? `\u001b[${on}m${text}\u001b[${off}m` : text;
    },
  };
}
