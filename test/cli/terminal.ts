/** A real terminal, by tmux: a command is started in it, keys are pressed, and one looks at what is on it. */
import { execFileSync, spawnSync } from 'node:child_process';
import { vi } from 'vitest';

const LOOK_MS = 12_000;

export type Terminal = {
  /** Types text, or presses a key by its name in tmux, like `C-c`. */
  press(key: string): void;
  /** What is on it: as text, or with the codes of its colours. */
  look(colours?: boolean): string;
  /** Waits until that is on it, and answers all of it. */
  shows(text: RegExp, colours?: boolean): Promise<string>;
  close(): void;
};

/** Whether there is a tmux. */
export function hasTerminal(): boolean {
  return spawnSync('tmux', ['-V']).error === undefined;
}

let opened = 0;

/** Opens a terminal of 100 columns with a plain shell; `env` is all that shell knows. */
export function openTerminal(env: Readonly<Record<string, string>>): Terminal {
  opened += 1;
  const name = `task-gateway-${process.pid}-${opened}`;
  const tmux = (...args: readonly string[]): string =>
    execFileSync('tmux', ['-L', name, '-f', '/dev/null', '-u', ...args], {
      encoding: 'utf8',
      env: { PATH: process.env.PATH ?? '', LANG: 'C.UTF-8' },
    });
  const all = Object.entries({ LANG: 'C.UTF-8', PS1: 'ready> ', TERM: 'screen-256color', ...env });
  const assignments = all.map(([key, value]) => `${key}=${value}`);
  tmux(
    'new-session',
    '-d',
    '-x',
    '100',
    '-y',
    '40',
    'env',
    '-i',
    ...assignments,
    'bash',
    '--norc',
    '--noprofile',
    '-i',
  );
  const look = (colours = false): string => tmux('capture-pane', '-p', ...(colours ? ['-e'] : []));
  return {
    look,
    press: (key) => void tmux('send-keys', ...(/^(C-.|Enter)$/.test(key) ? [key] : ['-l', key])),
    shows: (text, colours) =>
      vi.waitFor(
        () => {
          const screen = look(colours);
          if (!text.test(screen)) throw new Error(`Not on the terminal: ${text}\n${screen}`);
          return screen;
        },
        { timeout: LOOK_MS, interval: 50 },
      ),
    close: () => void spawnSync('tmux', ['-L', name, 'kill-server']),
  };
}
