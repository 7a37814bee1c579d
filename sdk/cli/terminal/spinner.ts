/** A status line with an animation and the seconds gone by, shown while a command waits for a task. */
import { readMonotonicMs, systemClock } from '../../clock.ts';
import type { Task } from '../../contract.ts';
import { cleanText } from './safe-text.ts';
import type { Environment, Terminal } from './terminal.ts';
import { truncate } from './width.ts';

export type Spinner = {
  /** Shows the state of the task from now on. */
  showTask(task: Task): void;
  /** While the task waits for an agent, shows beside it what is known of the agents with its tags. */
  showAgents(text: string): void;
  /** Shows this text from now on, whatever the state of the task is. */
  showText(text: string): void;
  /** Removes the line. May be called again. */
  stop(): void;
};

const FRAME_MS = 100;
const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const ASCII_FRAMES = ['|', '/', '-', '\\'];

/** Starts a spinner on standard error. It does nothing if that is not a terminal. */
export function startSpinner(terminal: Terminal, env: Environment): Spinner {
  const startMs = readMonotonicMs(systemClock);
  const frames = supportsUnicode(env) ? FRAMES : ASCII_FRAMES;
  let task: Task | undefined;
  let agents = '';
  let text: string | undefined;
  let drawn = 0;

  function draw(): void {
    const frame = frames[drawn % frames.length] ?? '';
    drawn += 1;
    const seconds = Math.floor((readMonotonicMs(systemClock) - startMs) / 1_000);
    const line = `${text ?? (task ? describeState(task, agents) : 'submitting')} ${seconds} s`;
    const width = (terminal.err.columns ?? 80) - 3;
    terminal.showStatus(`${terminal.err.paint('cyan', frame)} ${truncate(cleanText(line), width)}`);
  }

  if (!terminal.err.isTty || env.TERM === 'dumb') {
    return { showTask() {}, showAgents() {}, showText() {}, stop() {} };
  }
  draw();
  const timer = setInterval(draw, FRAME_MS);
  return {
    showTask(next) {
      task = next;
    },
    showAgents(next) {
      agents = next;
    },
    showText(next) {
      text = next;
    },
    stop() {
      clearInterval(timer);
      terminal.showStatus('');
    },
  };
}

function describeState({ status, agent_id, progress, task_tags }: Task, agents: string): string {
  if (status === 'pending') {
    const tags = task_tags.join(', ');
    const which = task_tags.length === 1 ? `the tag ${tags}` : `one of the tags ${tags}`;
    return `waiting for an agent with ${which}${agents && ` (${agents})`}`;
  }
  const agent = agent_id === null ? '' : ` on ${agent_id}`;
  return `${status}${agent} ${progress} %`;
}

function supportsUnicode(env: Environment): boolean {
  return /utf-?8/i.test(env.LC_ALL || env.LC_CTYPE || env.LANG || '');
}
