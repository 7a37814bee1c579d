/** The kinds of events of a task, each with its words, its icon, and the colours of its text and its mark. */

import type { IconName } from '../parts/icon.tsx';

/** The meaning of a colour; `ink` means nothing. */
export type Tone = 'bad' | 'wait' | 'run' | 'ok' | 'idle' | 'ink';
/** How one kind of event is shown. */
export type EventKind = {
  readonly icon: IconName;
  readonly title: string;
  /** The colour of its words in the table. */
  readonly tone: Tone;
  /** The colour of its mark. */
  readonly markTone: Tone;
};

const KINDS: Readonly<Record<string, EventKind>> = {
  submitted: { icon: 'inbox', title: 'Submitted', tone: 'ink', markTone: 'ink' },
  waiting: { icon: 'pending', title: 'Waiting for an agent', tone: 'wait', markTone: 'wait' },
  assigned: { icon: 'send', title: 'Assigned', tone: 'ink', markTone: 'ink' },
  claimed: { icon: 'inbox', title: 'Claimed by the agent', tone: 'ink', markTone: 'run' },
  push_taken: { icon: 'check', title: 'Push taken', tone: 'ink', markTone: 'run' },
  push_not_taken: { icon: 'cross', title: 'Push not taken', tone: 'bad', markTone: 'bad' },
  push_unknown: { icon: 'info', title: 'Push without response', tone: 'wait', markTone: 'wait' },
  acknowledged: { icon: 'check', title: 'Acknowledged', tone: 'ink', markTone: 'run' },
  progress: { icon: 'running', title: 'Progress', tone: 'ink', markTone: 'run' },
  asked: { icon: 'info', title: 'Asked a question', tone: 'wait', markTone: 'wait' },
  answered: { icon: 'check', title: 'Answered', tone: 'ink', markTone: 'run' },
  // Like an assignment, this mark begins the lane of another agent.
  moved: { icon: 'move', title: 'Moved to another agent', tone: 'wait', markTone: 'ink' },
  offered_again: { icon: 'again', title: 'Offered again', tone: 'wait', markTone: 'wait' },
  success: { icon: 'success', title: 'Succeeded', tone: 'ok', markTone: 'ok' },
  failed: { icon: 'failed', title: 'Failed', tone: 'bad', markTone: 'bad' },
  cancelled: { icon: 'cancelled', title: 'Cancelled', tone: 'idle', markTone: 'idle' },
  timeout: { icon: 'timeout', title: 'Timed out', tone: 'bad', markTone: 'bad' },
  no_agent: { icon: 'no_agent', title: 'No agent: 无可用 Agent', tone: 'bad', markTone: 'bad' },
  agent_lost: { icon: 'agent_lost', title: 'Agent lost', tone: 'bad', markTone: 'bad' },
};

/** Describes how an event is shown. An event of a later version is shown as received. */
export function describeEvent(event: string): EventKind {
  const kind = Object.hasOwn(KINDS, event) ? KINDS[event] : undefined;
  return kind ?? { icon: 'dot', title: event, tone: 'ink', markTone: 'ink' };
}

export function checkEnding(event: string): boolean {
  return ['success', 'failed', 'cancelled', 'timeout', 'no_agent', 'agent_lost'].includes(event);
}

/** The worst first. */
const WORST: readonly Tone[] = ['bad', 'wait', 'run', 'ok', 'idle', 'ink'];

export function chooseWorst(tones: readonly Tone[]): Tone {
  return WORST.find((tone) => tones.includes(tone)) ?? 'ink';
}
