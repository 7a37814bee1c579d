/** How a task ended, by the trigger that settled it. */
import type { Trigger } from '../domain/triggers.ts';
import type { Outcome } from './metrics-table.ts';

const OUTCOME_OF: Partial<Record<Trigger['type'], Outcome>> = {
  succeed: 'success',
  fail: 'failed',
  cancel: 'cancelled',
  expire: 'timeout',
  abandon: 'no_agent',
  lose: 'agent_lost',
};

/** The outcome of a step by this trigger; undefined when it settles no task. */
export function classifyOutcome({ type }: Trigger): Outcome | undefined {
  return OUTCOME_OF[type];
}
