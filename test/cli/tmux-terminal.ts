/** A real terminal, provided by tmux: tests type into it and read what it shows. */
import { execFileSync, spawnSync } from 'node:child_process';
import { vi } from 'vitest';

const SHOW_TIMEOUT_MS = 12_000;

export type TmuxTerminal = {
  /** Types text, or presses the key with that name in tmux: `Enter`, or `C-c` and the like. */
  press(key: string): void;
  /** Waits until the screen matches, and returns all of it: as plain text, or with its colour codes. */
  waitForText(text: RegExp, colours?: boolean): Promise<string>;
  close(): void;
};

/** Whether tmux is installed. */
export function hasTmux(): boolean {
  return spawnSync('tmux', ['-V']).error === undefined;
}

let opened = 0;

/** Opens a terminal of 100 columns with a shell whose environment is `env` and little else. */
export function openTerminal(env: Readonly<Record<string, string>>): TmuxTerminal {
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
  const capture = (colours = false): string => tmux('capture-pane', '-p', ...(colours ? ['-e'] : []));
  return {
    press: (key) => void tmux('send-keys', ...(/^(C-.|Enter)$/.test(key) ? [key] : ['-l', key])),
    waitForText: (text, colours) =>
      vi.waitFor(
        () => {
          const screen = capture(colours);
          if (!text.test(screen)) throw new Error(`Not on the terminal: ${text}\n${screen}`);
          return screen;
        },
        { timeout: SHOW_TIMEOUT_MS, interval: 50 },
      ),
    close: () => void spawnSync('tmux', ['-L', name, 'kill-server']),
  };
}
