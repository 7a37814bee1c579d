/** A real terminal, provided by tmux: tests type into it and read what it shows. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, vi } from 'vitest';

const SHOW_TIMEOUT_MS = 12_000;
const RECORD_TIMEOUT_MS = 45_000;

export type TmuxTerminal = {
  /** Types text, or presses the key with that name in tmux: `Enter`, or `C-c` and the like. */
  press(key: string): void;
  /** Waits until the screen matches, and returns all of it: as plain text, or with its colour codes. */
  waitForText(text: RegExp, colours?: boolean): Promise<string>;
  close(): void;
};

/** Runs a program in a terminal of its own; returns how to send commands to its tmux. */
function startTmux(
  env: Readonly<Record<string, string>>,
  columns: number,
  program: readonly string[],
): (...args: readonly string[]) => string {
  // The files of one run may share a process.
  const name = `task-gateway-${crypto.randomUUID()}`;
  const tmux = (...args: readonly string[]): string =>
    execFileSync('tmux', ['-L', name, '-f', '/dev/null', '-u', ...args], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: process.env.PATH ?? '', LANG: 'C.UTF-8' },
    });
  const all = Object.entries({ LANG: 'C.UTF-8', PS1: 'ready> ', TERM: 'screen-256color', ...env });
  const assignments = all.map(([key, value]) => `${key}=${value}`);
  tmux('new-session', '-d', '-x', `${columns}`, '-y', '40', 'env', '-i', ...assignments, ...program);
  return tmux;
}

/** Ends a terminal that may have ended by itself. */
function closeTmux(tmux: (...args: readonly string[]) => string): void {
  try {
    tmux('kill-server');
  } catch {
    // Its shell has exited, and its server with it.
  }
}

/** Runs a shell script in a terminal, and returns every byte that the terminal was sent, read as UTF-8. */
export async function recordTerminal(env: Readonly<Record<string, string>>, script: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'task-gateway-terminal-'));
  const path = join(folder, 'recorded');
  const tmux = startTmux(env, 80, ['sh', '-c', `read -r _\n${script}\necho all-done\nread -r _`]);
  try {
    tmux('pipe-pane', `cat > '${path}'`);
    tmux('send-keys', 'Enter');
    return await vi.waitFor(
      () => {
        const text = readFileSync(path, 'utf8');
        if (!text.includes('all-done')) throw new Error(`The script has not ended:\n${text.slice(-2_000)}`);
        return text;
      },
      { timeout: RECORD_TIMEOUT_MS, interval: 100 },
    );
  } finally {
    closeTmux(tmux);
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Opens a terminal with a shell whose environment is `env` and little else. */
export function openTerminal(env: Readonly<Record<string, string>>, columns = 100): TmuxTerminal {
  const tmux = startTmux(env, columns, ['bash', '--norc', '--noprofile', '-i']);
  const capture = (colours = false): string => tmux('capture-pane', '-p', ...(colours ? ['-e'] : []));
  return {
    press: (key) => void tmux('send-keys', ...(/^(C-.|Enter)$/.test(key) ? [key] : ['-l', key])),
    waitForText: (text, colours) =>
      vi.waitFor(
        () => {
          const screen = capture(colours);
          expect(screen).toMatch(text);
          return screen;
        },
        { timeout: SHOW_TIMEOUT_MS, interval: 50 },
      ),
    close: () => closeTmux(tmux),
  };
}
