/** A line that moves while one waits; on a terminal alone. */
import type { Task } from '../../contract.ts';
import type { Screen } from './terminal.ts';
import { cleanText, truncate } from './width.ts';

export type Spinner = {
  /** Shows how the task is from now on. */
  watch(task: Task): void;
  /** Shows these words instead of the task's state from now on. */
  tell(words: string): void;
  /** Takes the line away. Twice is fine. */
  stop(): void;
};

const FRAME_MS = 100;
const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const PLAIN_FRAMES = ['|', '/', '-', '\\'];

/** Starts a spinner; without a terminal it does nothing. */
export function startSpinner(screen: Screen, env: Readonly<Record<string, string | undefined>>): Spinner {
  const startMs = Date.now();
  const frames = canShowUnicode(env) ? FRAMES : PLAIN_FRAMES;
  let task: Task | undefined;
  let words: string | undefined;
  let turns = 0;

  function draw(): void {
    const frame = frames[turns % frames.length] ?? '';
    turns += 1;
    const seconds = Math.floor((Date.now() - startMs) / 1_000);
    const line = `${words ?? (task ? describeState(task) : 'submitting')} ${seconds} s`;
    screen.show(`${screen.err.paint('cyan', frame)} ${truncate(line, (screen.err.columns ?? 80) - 3)}`);
  }

  if (!screen.err.isTerminal || env.TERM === 'dumb') return { watch() {}, tell() {}, stop() {} };
  draw();
  const timer = setInterval(draw, FRAME_MS);
  return {
    watch(next) {
      task = next;
    },
    tell(next) {
      words = next;
    },
    stop() {
      clearInterval(timer);
      screen.show('');
    },
  };
}

function describeState({ status, agent_id, progress }: Task): string {
  if (status === 'pending') return 'pending';
  const agent = agent_id === null ? '' : ` on ${cleanText(agent_id)}`;
  return `${status}${agent} ${progress} %`;
}

function canShowUnicode(env: Readonly<Record<string, string | undefined>>): boolean {
  return /utf-?8/i.test(env.LC_ALL || env.LC_CTYPE || env.LANG || '');
}
