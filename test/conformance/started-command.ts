/** The subject as a process: a command that the kit starts, or an agent that its author starts. */
import { spawn } from 'node:child_process';

/** One process of the subject. */
export type StartedCommand = {
  isOver(): boolean;
  /** Returns what it printed on either stream. */
  printed(): string;
  /** Returns all of its standard output. */
  output(): string;
  /** Returns its exit code; null while it runs, or if a signal ended it. */
  exitCode(): number | null;
  signal(name: 'SIGINT' | 'SIGTERM' | 'SIGKILL'): void;
};

export type Starter = {
  /** Whether the kit can start the subject, kill it and start it again. */
  readonly isCommand: boolean;
  start(environment: Readonly<Record<string, string>>): StartedCommand;
};

/** How much of a client's output is kept. More is no result. */
const OUTPUT_MAX = 4_000_000;
/** How much of it a message quotes. */
const TOLD_MAX = 400;

/** Runs a command in a shell. Signals go to the whole group of its processes, as a terminal sends them. */
export function startsCommand(command: string): Starter {
  return {
    isCommand: true,
    start(environment) {
      const env = { ...process.env, ...environment };
      const child = spawn(command, { shell: true, detached: true, env, stdio: ['ignore', 'pipe', 'pipe'] });
      let printed = '';
      let output = '';
      let exitCode: number | null = null;
      let isOver = false;
      const print = (text: string): void => {
        printed = `${printed}${text}`.slice(-OUTPUT_MAX);
      };
      child.stderr.setEncoding('utf8').on('data', print);
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        print(text);
        output = `${output}${text}`.slice(-OUTPUT_MAX);
      });
      child.once('error', (error) => {
        printed = error.message;
        isOver = true;
      });
      // The shell may end before what it started: the command has ended when nothing can print any more.
      child.once('close', (code) => {
        exitCode = code;
        isOver = true;
      });
      return {
        isOver: () => isOver,
        printed: () => printed,
        output: () => output,
        exitCode: () => exitCode,
        signal(name) {
          try {
            if (child.pid !== undefined) process.kill(-child.pid, name);
          } catch {
            // All of its processes have ended.
          }
        },
      };
    },
  };
}

/** Returns the end of what was printed, as a sentence of a message; empty if nothing was. */
export function tellPrinted(printed: string): string {
  const text = printed.trim().slice(-TOLD_MAX);
  return text === '' ? '' : ` It printed: ${text}`;
}

/** Lets the author start the agent; `announce` says with which variables. */
export function awaitsAgent(announce: (environment: Readonly<Record<string, string>>) => void): Starter {
  return {
    isCommand: false,
    start(environment) {
      announce(environment);
      return {
        isOver: () => false,
        printed: () => '',
        output: () => '',
        exitCode: () => null,
        signal: () => {},
      };
    },
  };
}
