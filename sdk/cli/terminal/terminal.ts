/**
 * Where the command writes: results to standard output, everything else to standard error. Colours and moving lines
 * only where a terminal is; no secret ever.
 */
import { redactSecrets } from './redaction.ts';
import { padEnd } from './width.ts';

/** What is needed of `process.stdout` and `process.stderr`. */
export type OutStream = {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string, written?: (error?: Error | null) => void): unknown;
};

export type Colour = 'red' | 'green' | 'yellow' | 'cyan' | 'dim' | 'bold';
export type Paint = (colour: Colour, text: string) => string;

/** One of the two outputs. */
export type Face = {
  readonly isTerminal: boolean;
  /** The terminal's width; undefined where there is none. */
  readonly columns: number | undefined;
  readonly paint: Paint;
};

export type Screen = {
  readonly out: Face;
  readonly err: Face;
  /** Writes to standard output; resolves once it is written. */
  print(text: string): Promise<void>;
  /** Writes a line to standard error. */
  say(line: string): void;
  /** Shows a line on the terminal in place of the one before; nothing without a terminal. Empty: clears it. */
  show(line: string): void;
  /** From now on these are struck out of everything said. */
  hide(secrets: readonly string[]): void;
};

type Env = Readonly<Record<string, string | undefined>>;

const CODES: Readonly<Record<Colour, readonly [on: number, off: number]>> = {
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
  dim: [2, 22],
  bold: [1, 22],
};
const CLEAR_LINE = '\r\u001b[K';

/** Creates the screen. Colours: on a terminal that knows them, unless NO_COLOR is set. */
export function createScreen(stdout: OutStream, stderr: OutStream, env: Env): Screen {
  const hidden = new Set<string>();
  let shown = false;

  function show(line: string): void {
    if (!stderr.isTTY || (line === '' && !shown)) return;
    shown = line !== '';
    stderr.write(CLEAR_LINE + redactSecrets(line, hidden));
  }

  return {
    out: describeFace(stdout, env),
    err: describeFace(stderr, env),
    show,
    say(line) {
      show('');
      stderr.write(`${redactSecrets(line, hidden)}\n`);
    },
    print(text) {
      show('');
      return new Promise((resolve, reject) => {
        stdout.write(text, (error) => (error ? reject(error) : resolve()));
      });
    },
    hide(secrets) {
      for (const secret of secrets) hidden.add(secret);
    },
  };
}

function describeFace(stream: OutStream, env: Env): Face {
  const isTerminal = stream.isTTY === true;
  const coloured = isTerminal && !env.NO_COLOR && env.TERM !== 'dumb';
  return {
    isTerminal,
    get columns() {
      return isTerminal ? (stream.columns ?? 80) : undefined;
    },
    paint(colour, text) {
      const [on, off] = CODES[colour];
      return coloured && text !== '' ? `\u001b[${on}m${text}\u001b[${off}m` : text;
    },
  };
}

/** Names and values below each other, the values in one column. */
export function renderPairs(
  pairs: readonly (readonly [name: string, value: string])[],
  paint: Paint,
): string {
  const width = Math.max(...pairs.map(([name]) => name.length));
  return pairs.map(([name, value]) => `${paint('dim', padEnd(name, width))}  ${value}\n`).join('');
}
