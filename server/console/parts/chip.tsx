/**
 * The state of a task or an agent: a shape, a word and a colour. A value that this console does not know is
 * grey and as it was received.
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

/** How a state looks: one of `stateOf()`, of `agentStateOf()`, or as it was received. */
export function lookOf(state: string): Look {
  return LOOKS.get(state) ?? { tone: 'idle', icon: 'dot', word: state };
}

export type ChipProps = {
  /** As `stateOf()` or `agentStateOf()` returned it. */
  readonly state: string;
  /** Of a running task, 0 to 100. */
  readonly progress?: number | undefined;
  /** Of an agent that works: how many tasks failed, if all of its last ones did. */
  readonly failed?: number | undefined;
  /** In the head of a page. */
  readonly big?: boolean;
};

/** A state. */
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

/** The fields of a task that decide its state; a row of the tasks has all of them. */
export type StatedTask = {
  readonly status: string;
  readonly outcome?: string | null | undefined;
  /** Whether it waits for an agent, also one that was assigned and is offered again. */
  readonly waiting?: boolean;
  /** Whether its agent has taken it. */
  readonly acknowledged?: boolean;
};

/**
 * The state a task shows: its outcome; `pending` while it waits for an agent; `not_taken` while the agent
 * that it is assigned to has not taken it; else its status. Pure.
 */
export function stateOf({ status, outcome, waiting, acknowledged }: StatedTask): string {
  if (outcome) return outcome;
  if (waiting) return 'pending';
  return status === 'running' && acknowledged === false ? 'not_taken' : status;
}

/** The state an agent shows: `failing` where it works and its pushes fail, else its own. Pure. */
export function agentStateOf(agent: { readonly state: string; readonly failing: boolean }): string {
  const mayTake = agent.state === 'ready' || agent.state === 'processing';
  return mayTake && agent.failing ? 'failing' : agent.state;
}
