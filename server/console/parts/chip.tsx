/**
 * The state of a task or an agent: a shape, a word and a colour. An unknown state is grey and shown as
 * received.
 */
import type { VNode } from 'preact';
import { Icon, type IconName, ProgressIcon } from './icon.tsx';

type Look = { readonly tone: Tone; readonly icon: IconName; readonly word: string };

/** The colours of states: `ok` went well, `run` is at work, `bad` needs a person, `idle` is over. */
type Tone = 'ok' | 'run' | 'wait' | 'bad' | 'idle';

const LOOKS: ReadonlyMap<string, Look> = new Map<string, Look>([
  ['pending', { tone: 'wait', icon: 'pending', word: 'Waiting' }],
  ['running', { tone: 'run', icon: 'running', word: 'Running' }],
  ['asking', { tone: 'wait', icon: 'info', word: 'Asks' }],
  ['not_taken', { tone: 'wait', icon: 'send', word: 'Not taken' }],
  ['success', { tone: 'ok', icon: 'success', word: 'Success' }],
  ['failed', { tone: 'bad', icon: 'failed', word: 'Failed' }],
  ['no_agent', { tone: 'bad', icon: 'no_agent', word: 'No agent' }],
  ['timeout', { tone: 'bad', icon: 'timeout', word: 'Timed out' }],
  ['cancelled', { tone: 'idle', icon: 'cancelled', word: 'Cancelled' }],
  ['agent_lost', { tone: 'bad', icon: 'agent_lost', word: 'Agent lost' }],
  ['ready', { tone: 'ok', icon: 'ready', word: 'Ready' }],
  ['processing', { tone: 'run', icon: 'processing', word: 'Processing' }],
  ['draining', { tone: 'wait', icon: 'draining', word: 'Draining' }],
  ['offline', { tone: 'idle', icon: 'offline', word: 'Offline' }],
  ['failing', { tone: 'bad', icon: 'alert', word: 'Pushes fail' }],
  ['fails', { tone: 'wait', icon: 'warn', word: 'Fails' }],
]);

/** How a state looks. An unknown state is shown as received. */
export function lookOf(state: string): Look {
  return LOOKS.get(state) ?? { tone: 'idle', icon: 'dot', word: state };
}

export type ChipProps = {
  /** A state that `stateOf()` or `agentStateOf()` returned. */
  readonly state: string;
  /** Of a running task, 0 to 100. */
  readonly progress?: number | undefined;
  /** How many tasks failed, if all of the agent's last tasks did. */
  readonly failed?: number | undefined;
  /** Whether the chip stands in the head of a page. */
  readonly big?: boolean;
};

export function Chip({ state, progress, failed, big = false }: ChipProps): VNode {
  const isFailing = failed !== undefined && (state === 'ready' || state === 'processing');
  const { tone, icon, word } = lookOf(isFailing ? 'fails' : state);
  const hasProgress = state === 'running' && progress !== undefined;
  return (
    <span class={`chip c-${tone}${big ? ' big' : ''}`}>
      {hasProgress ? <ProgressIcon progress={progress} /> : <Icon name={icon} />}
      {hasProgress
        ? `${word} ${Math.floor(progress)} %`
        : isFailing
          ? `${word} ${failed} of ${failed}`
          : word}
    </span>
  );
}

/** The fields of a task that decide its state. A row of the tasks has all of them. */
export type StatedTask = {
  readonly status: string;
  readonly outcome?: string | null | undefined;
  /** Whether the task waits for an agent. It may have been assigned before. */
  readonly waiting?: boolean;
  /** Whether its agent has taken it. */
  readonly acknowledged?: boolean;
};

/**
 * The state that a task shows: its outcome; `pending` while it waits for an agent; `not_taken` while its
 * agent has not taken it; else its status. Pure.
 */
export function stateOf({ status, outcome, waiting, acknowledged }: StatedTask): string {
  if (outcome) return outcome;
  if (waiting) return 'pending';
  return status === 'running' && acknowledged === false ? 'not_taken' : status;
}

/**
 * The state that an agent shows: `failing` if it could take tasks but its pushes fail, else its own. Pure.
 */
export function agentStateOf(agent: { readonly state: string; readonly failing: boolean }): string {
  const mayTake = agent.state === 'ready' || agent.state === 'processing';
  return mayTake && agent.failing ? 'failing' : agent.state;
}
