/** The agent under test as a process: a command that the kit starts, or a process that its author starts. */
import { spawn } from 'node:child_process';

/** One process of the agent. */
export type StartedAgent = {
  isOver(): boolean;
  /** The last that it printed, for messages. */
  printed(): string;
  signal(name: 'SIGTERM' | 'SIGKILL'): void;
};

export type AgentStarter = {
  /** Whether the kit can start the agent, kill it and start it again. */
  readonly isCommand: boolean;
  start(environment: Readonly<Record<string, string>>): StartedAgent;
};

const PRINTED_MAX = 400;

/** Runs a command in a shell. Signals go to the whole group of its processes, as a terminal sends them. */
export function startsCommand(command: string): AgentStarter {
  return {
    isCommand: true,
    start(environment) {
      const env = { ...process.env, ...environment };
      const child = spawn(command, { shell: true, detached: true, env, stdio: ['ignore', 'pipe', 'pipe'] });
      let printed = '';
      let isOver = false;
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding('utf8').on('data', (text: string) => {
          printed = `${printed}${text}`.slice(-PRINTED_MAX);
        });
      child.once('error', (error) => {
        printed = error.message;
        isOver = true;
      });
      // The shell may end before what it started: it is over when nothing can print any more.
      child.once('close', () => {
        isOver = true;
      });
      return {
        isOver: () => isOver,
        printed: () => printed.trim(),
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

/** The author starts the agent, and `announce` says with what. */
export function awaitsAgent(announce: (environment: Readonly<Record<string, string>>) => void): AgentStarter {
  return {
    isCommand: false,
    start(environment) {
      announce(environment);
      return { isOver: () => false, printed: () => '', signal: () => {} };
    },
  };
}
